package import HTTPCache
package import HTTPCacheOperations
package import HTTPCacheSemantics
package import HTTPTypes
package import HTTPWire

extension GatewayRoutes {
    /// The request that the gateway would make for a URL.
    package struct Mapping: Sendable {
        /// The target at the origin.
        package var target: TargetURI
        /// The route; `nil` if the URL already names an origin.
        package var route: GatewayRoute?
    }

    /// Returns the URLs under which responses are stored for a URL that clients request, or for an
    /// origin's URL if its routes preserve the client's host; empty if no route leads there, or if
    /// responses are stored under the URL itself.
    ///
    /// A preserved host has a URL for each port that it may keep.
    package func originURLs(of url: TargetURI) -> [OriginURL] {
        guard let mapping = mapping(of: url) else { return [] }
        guard let route = mapping.route else {
            let urls = (preserved(of: url) ?? []).flatMap { Self.urls(of: url, on: $0.route, for: $0.host) }
            return urls.map { OriginURL($0, routes: names(of: $0)) }
        }
        // The host of the URL is the gateway's, and the path names the origin.
        return urls(of: mapping.target, on: route, for: url).map { OriginURL($0, routes: names(of: $0)) }
    }

    /// Returns the URLs as ``originURLs(of:)`` does, an origin's URL itself, and those that rules
    /// change them to.
    package func originURLs(of url: TargetURI, by rules: some ExchangeRules) -> [OriginURL] {
        let direct = mapping(of: url)?.route == nil ? [OriginURL(url)] : []
        return (direct + originURLs(of: url)).flatMap { place in
            place.url.keyed { [rules.rules(for: $0)] }.map { OriginURL($0, routes: place.routes) }
        }
    }

    /// Returns the prefixes under which responses are stored for all URLs that begin with one that
    /// clients request: those of its own route, and those of all routes with a longer path.
    ///
    /// Prefixes that another one includes are left out. A prefix at an origin is mapped as
    /// ``originURLs(of:)`` maps a URL.
    package func originPrefixes(of prefix: TargetURI) -> [OriginURL] {
        // No route has a query.
        if prefix.query != nil || routes.contains(where: { leads($0, to: prefix) }) { return originURLs(of: prefix) }
        let start = PathNormalForm.path(prefix.path.utf8)
        var paths: Set = [prefix.path]
        for route in own {
            let path = route.prefix.normalForm
            if path.count > start.count, path.starts(with: start) { paths.insert(route.path) }
        }
        var found: [TargetURI] = []
        for path in paths {
            guard let url = try? TargetURI("\(prefix.scheme)://\(prefix.authority)\(path)"),
                let mapping = mapping(of: url, isClients: true), let route = mapping.route
            else { continue }
            found += urls(of: mapping.target, on: route, for: url)
        }
        // A prefix comes before all those that it includes.
        var kept: [TargetURI] = []
        for url in found.sorted(by: { $0.uri < $1.uri }) {
            if let last = kept.last, TargetPrefix(last).includes(TargetPrefix(url)) { continue }
            kept.append(url)
        }
        return kept.map { OriginURL($0, routes: names(of: $0)) }
    }

    private func urls(of target: TargetURI, on route: GatewayRoute, for url: TargetURI) -> [TargetURI] {
        route.forwards ? [target] : Self.urls(of: target, on: route, for: RequestedHost(url.authority))
    }

    /// Returns the routes that lead to a target, or to targets that begin with it.
    private func names(of target: TargetURI) -> [String] {
        routes.enumerated().filter { $1.leads(toTargetsFrom: target) }.map { $1.name ?? "\($1.number ?? $0 + 1)" }
    }

    /// The maximum number of hosts that an origin's URL stands for.
    private static let hostLimit = 64

    /// Returns the hosts under which responses of an origin's URL are stored, each with its route;
    /// `nil` if there are too many, or any host or label is possible.
    private func preserved(of url: TargetURI) -> [(route: GatewayRoute, host: RequestedHost)]? {
        var hosts: [(route: GatewayRoute, host: RequestedHost)] = []
        for route in own where route.preservesHost && leads(route, to: url) {
            guard case .exact(let name) = route.pattern.name, let host = RequestedHost(name),
                hosts.count < Self.hostLimit
            else { return nil }
            hosts.append((route, host))
        }
        return hosts
    }

    private static func urls(of target: TargetURI, on route: GatewayRoute, for host: RequestedHost?) -> [TargetURI] {
        route.authorities(for: host).compactMap { authority in
            TargetURI(
                request: HTTPRequest(
                    method: .get,
                    scheme: route.origin.scheme,
                    authority: authority,
                    path: target.requestTarget
                )
            )
        }
    }

    /// Returns whether responses of an origin's URL are stored under hosts that clients request,
    /// and which hosts these are is not known.
    package func keepsClientsHosts(of url: TargetURI) -> Bool { preserved(of: url) == nil }

    private func leads(_ route: GatewayRoute, to url: TargetURI) -> Bool {
        if route.forwards { return route.mayLead(to: url) }
        return route.origin.scheme == url.scheme && route.origin.host == url.host && route.origin.port == url.port
            && route.originPrefix.rest(of: url.requestTarget) != nil
    }

    /// Maps a URL to its target at an origin, for tools. The URL may name an origin, or be one that
    /// a client would request from the gateway.
    ///
    /// A URL that names a route's origin is used unchanged, even if a route would match it as a URL
    /// that clients request.
    ///
    /// - Parameter isClients: whether a client requests the URL, even if it names an origin.
    /// - Returns: `nil` if no route matches.
    package func mapping(of url: TargetURI, isClients: Bool = false) -> Mapping? {
        if !isClients, routes.contains(where: { leads($0, to: url) }) { return Mapping(target: url) }
        let request = asked(url)
        guard let choice = choose(for: request) else { return nil }
        let route = routes[choice.route]
        let head = HTTPRequest(
            method: .get,
            scheme: route.origin.scheme,
            authority: route.authority(for: request.authority),
            path: choice.path
        )
        return TargetURI(request: head).map { Mapping(target: $0, route: route) }
    }

    /// Returns the request of a client for a URL, for tools. If the host is one of the forward
    /// proxy, the client asks the proxy.
    package func asked(
        _ url: TargetURI,
        _ method: HTTPRequest.Method = .get,
        _ fields: HTTPFields = [:],
        unless isNamed: (RequestedHost) -> Bool = { _ in false }
    ) -> GatewayRequest {
        var request = GatewayRequest(
            method: method,
            target: url.requestTarget,
            authority: RequestedHost(url.authority),
            fields: fields,
            receivedProtocol: .http11,
            content: .none
        )
        if proxy?.serves(url) == true { request.scheme = GatewayRequest.Scheme(rawValue: url.scheme) }
        return forwarded(request, unless: isNamed)
    }
}
