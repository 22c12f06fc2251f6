import HTTPCacheSemantics
import HTTPWire

/// The client that a response is rewritten for. It decides which of the gateway's URLs replaces an
/// origin's URL.
///
/// The client's host is only written into its own response. It is in no key, and nothing made with
/// it is stored or shared.
package struct RewriteClient {
    /// The start of a URL that clients request.
    struct Base {
        /// `http` or `https`
        var scheme: String
        var authority: String
        /// Empty, or with a leading slash and without a trailing one.
        var path: String
    }

    /// The maximum length of an authority that is written, in bytes: a name of 255 bytes, and a
    /// port.
    static let authorityLimit = 261

    let map: RewriteMap
    /// The index of the request's route.
    let routeIndex: Int
    /// `http` or `https`
    let scheme: String
    /// The request's authority; `nil` if the request has no authority that is safe in any text.
    let authority: String?
    /// The same authority, in parts.
    let requested: RequestedHost?
    /// Whether a URL named the server of some origin, or the client's own host where that can be
    /// translated. Apart from the host, this does not depend on the client.
    var hasMetServer = false
    /// The bases requested so far, by route.
    private var bases: [Int: Base?] = [:]

    package init(_ map: RewriteMap, route: Int, scheme: String, authority: String?) {
        self.map = map
        routeIndex = route
        self.scheme = scheme
        let plain = authority.flatMap { Self.isPlain($0) ? $0 : nil }
        self.authority = plain
        requested = plain.flatMap { RequestedHost($0) }
    }

    var route: GatewayRoute { map.routes.routes[routeIndex] }

    /// Whether an authority only has bytes without special meaning in HTML, JSON and fields.
    private static func isPlain(_ authority: String) -> Bool {
        let bytes = authority.utf8
        return !bytes.isEmpty && bytes.count <= authorityLimit
            && bytes.allSatisfy { $0.isNameByte || "[]:".utf8.contains($0) }
    }

    /// Returns the URL of the first of these routes through which this client can request a path.
    /// The request's own route is tried first.
    ///
    /// - Parameter rest: the path after the route's path.
    mutating func base(ofFirst routes: [Int], before rest: [UInt8]) -> Base? {
        for route in routes.contains(routeIndex) ? [routeIndex] + routes : routes {
            if let base = base(of: route), rest.isEmpty || leads(base, before: rest, to: route) { return base }
        }
        return nil
    }

    /// Returns the URL at which this client requests a route; `nil` if none of the client's
    /// requests can take the route.
    mutating func base(of route: Int) -> Base? {
        if let known = bases[route] { return known }
        let base = makeBase(map.routes.routes[route]).flatMap { leads($0, to: route) ? $0 : nil }
        bases[route] = .some(base)
        return base
    }

    private func makeBase(_ route: GatewayRoute) -> Base? {
        guard case .exact(let host) = route.pattern.name else {
            return authority.map { Base(scheme: scheme, authority: $0, path: route.prefix.text) }
        }
        // A route for port 80 matches requests that name no port, also over TLS.
        let port = route.pattern.port.map { $0 == 80 ? nil : $0 } ?? requested?.port
        let standard = RewriteMap.Server.defaultPort(isSecure: scheme == "https")
        let authority = port.flatMap { $0 == standard ? nil : "\(host):\($0)" } ?? host
        return Base(scheme: scheme, authority: authority, path: route.prefix.text)
    }
}
