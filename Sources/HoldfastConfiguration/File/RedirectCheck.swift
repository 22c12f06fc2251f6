import CacheRules
import HTTPCache
import HTTPCacheSemantics

/// Follows the redirects of routes with `respond`, to find those that never end.
///
/// It reports a redirect only if the file alone shows where the location leads: to a path of the
/// same host, or to a host that a route names.
struct RedirectCheck {
    /// The number of redirects that browsers follow.
    private static let limit = 20

    /// The requests that a redirect sends back to this gateway.
    enum Fault: Equatable {
        /// All of them.
        case everyRequest
        /// Those that come through a proxy with TLS that is not in `clients.trusted`.
        case behindProxy

        var message: String {
            switch self {
            case .everyRequest:
                "The redirect never ends: its location leads back to this gateway, to a redirect again. Change the location, or the route's 'host', 'path' or 'match'."
            case .behindProxy:
                "The redirect to https never ends behind a proxy with TLS: no listener has 'tls' and 'clients.trusted' is empty, so each request counts as http. "
                    + "Add the proxy's address to 'clients.trusted', or 'tls' to a listener."
            }
        }
    }

    /// A request of a client that follows redirects.
    private struct Request {
        var scheme: String
        /// The host, with a port.
        var authority: String
        /// Path and query.
        var target: String

        var path: String { String(target.prefix { $0 != "?" }) }
    }

    /// The routes with `respond` that answer every request of a scheme for their host and path.
    struct Answers {
        let routes: [Configuration.FixedRoute]
        let lookup: RouteLookup

        init(_ routes: [Configuration.FixedRoute], to scheme: String) {
            self.routes = routes.filter { $0.conditions.isEmpty && ($0.scheme ?? scheme) == scheme }
            lookup = RouteLookup(self.routes.map(\.sameRequests))
        }
    }

    private let lookup: RouteLookup
    /// The answers to requests over http and https.
    private let answers: (http: Answers, https: Answers)
    private let schemes: Set<String>
    /// The ports of the listeners.
    private let ports: Set<String>

    /// - Parameter lookup: the routes with an origin.
    init(_ configuration: Configuration, _ lookup: RouteLookup) {
        self.lookup = lookup
        schemes = configuration.schemes
        let routes = Array(configuration.fixedRoutes.prefix(Configuration.fixedRouteLimit))
        answers = (Answers(routes, to: "http"), Answers(routes, to: "https"))
        ports = Set(
            configuration.listeners.compactMap { listener -> String? in
                guard case .address(let address, _, _, _) = listener else { return nil }
                return String(address.dropFirst(address.withoutPort.utf8.count))
            }
        )
    }

    /// Returns which requests a route redirects without end; `nil` if there are none.
    func fault(of route: Configuration.FixedRoute) -> Fault? {
        guard route.answer.location != nil else { return nil }
        let own = schemes.filter { (route.scheme ?? $0) == $0 }
        if own.contains(where: { neverEnds(route, $0, behindProxy: false) }) { return .everyRequest }
        guard schemes == ["http"], own == schemes, neverEnds(route, "http", behindProxy: true) else { return nil }
        return .behindProxy
    }

    private func neverEnds(_ route: Configuration.FixedRoute, _ scheme: String, behindProxy: Bool) -> Bool {
        let host = route.host.map { $0.hasPrefix("*.") ? "a\($0.dropFirst())" : $0 } ?? "host.invalid"
        var request = Request(
            scheme: scheme,
            authority: Self.withPort(host.lowercased()),
            target: PathPrefix(route.path).text + "/a"
        )
        guard var next = answering(request, route), next.number == route.number else { return false }
        for _ in 0..<Self.limit {
            guard let location = next.answer.location(for: request.target),
                let following = follow(location, from: request, behindProxy: behindProxy),
                let answer = answering(following, route)
            else { return false }
            // Whether the host of a location leads to this gateway is known if a route has it.
            let isKnown = following.authority == request.authority || answer.host != nil
            guard isKnown || behindProxy && route.scheme != nil else { return false }
            (request, next) = (following, answer)
        }
        return true
    }

    /// Returns the request of a client for a location; `nil` if it is not for this gateway.
    private func follow(_ location: String, from request: Request, behindProxy: Bool) -> Request? {
        var result = request
        if location.hasPrefix("/") {
            result.target = String(location.prefix { $0 != "#" })
        } else {
            guard let url = try? TargetURI(location) else { return nil }
            let port = url.authority.dropFirst(url.authority.withoutPort.utf8.count)
            result.authority = Self.withPort(url.authority)
            guard port.isEmpty || ports.contains(String(port)) || result.authority == request.authority else {
                return nil
            }
            guard schemes.contains(url.scheme) || behindProxy else { return nil }
            result.scheme = schemes.contains(url.scheme) ? url.scheme : "http"
            result.target = url.requestTarget
        }
        return PathNormalForm.hasDotSegment(result.target) ? nil : result
    }

    /// Returns the route that answers a request; `nil` if it is not a route with `respond`.
    ///
    /// - Parameter own: the route that is checked. Its conditions on cookies and fields hold
    ///   again, because the client sends them again.
    private func answering(_ request: Request, _ own: Configuration.FixedRoute) -> Configuration.FixedRoute? {
        let answers = request.scheme == "https" ? answers.https : answers.http
        let asked = Configuration.Route(host: request.authority, path: request.path, origin: "")
        var found = answers.lookup.firstCovering(asked).map { answers.routes[$0] }
        let keepsQuery = own.conditions.query.isEmpty || own.answer.location?.contains("{query}") == true
        if !own.conditions.isEmpty, keepsQuery, (own.scheme ?? request.scheme) == request.scheme,
            own.sameRequests.rest(of: request.path, host: request.authority) != nil,
            found.map({ own.number < $0.number }) ?? true
        {
            found = own
        }
        guard let found else { return nil }
        if let origin = lookup.firstCovering(asked), origin < found.position { return nil }
        return found
    }

    /// A request for a host without a port means port 80, as for routes.
    private static func withPort(_ host: String) -> String { host.hasPort ? host : host + ":80" }
}

extension Configuration {
    /// Warnings about redirects to https of all requests: they never end behind a proxy with TLS,
    /// but are right if another server has the port of https.
    var redirectWarnings: [ConfigurationError.Finding] {
        guard !fixedRoutes.isEmpty else { return [] }
        let check = RedirectCheck(self, RouteLookup(routes))
        return fixedRoutes.filter { check.fault(of: $0) == .behindProxy }.map { route in
            .init(
                file: route.file ?? file,
                line: route.line,
                subject: route.subject,
                setting: "respond",
                message: RedirectCheck.Fault.behindProxy.message
            )
        }
    }
}
