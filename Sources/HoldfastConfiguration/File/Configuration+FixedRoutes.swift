import CacheRules
package import HTTPCache
import HTTPCacheSemantics
package import HTTPTypes

extension Configuration {
    /// A route with `respond`: the gateway answers its requests itself.
    package struct FixedRoute: Sendable, Hashable {
        /// The route's name in messages; `nil` if it is identified by its number.
        package var name: String?
        /// As of a route with an origin.
        package var host: String?
        /// As of a route with an origin.
        package var path = "/"
        /// `match.scheme`: the scheme that the client uses, `http` or `https`; `nil` matches both.
        package var scheme: String?
        /// The conditions on cookies, fields and parameters of `match`.
        package var conditions = RequestRestriction.Conditions()
        /// `respond`
        package var answer: FixedAnswer
        /// The number of routes with an origin that come first.
        package var position: Int
        /// The line on which the route begins.
        package var line: Int?
        /// The file that contains the route.
        package var file: String?
        /// The settings with references to variables, as written in the file.
        var written: [String: String] = [:]
        /// The route's number in the configuration, from 1.
        package var number: Int

        /// Whether the route matches only some of the requests for its host and path.
        var isConditional: Bool { scheme != nil || !conditions.isEmpty }

        /// Returns whether the route's conditions hold for a request with its host and path.
        package func holds(for request: HTTPRequest) -> Bool {
            if let scheme, scheme != request.scheme { return false }
            return conditions.isEmpty || conditions.hold(for: request)
        }

        /// The text by which messages refer to the route.
        package var subject: String { (written["name"] ?? name).map { "route \(shown($0))" } ?? "route \(number)" }

        /// A route with the same host and path, to compare it with others.
        var sameRequests: Route { Route(host: host, path: path, origin: "") }
    }

    /// The number of routes of both kinds. Without routes, a configuration is for the library.
    package var routeCount: Int { routes.count + fixedRoutes.count }

    /// The schemes over which no request reaches a route with an origin, because routes with
    /// `respond` come first, such as redirects from http to https.
    package var answeredSchemes: Set<String> {
        guard !fixedRoutes.isEmpty else { return [] }
        return Set(
            ["http", "https"].filter { scheme in
                let answers = RedirectCheck.Answers(fixedRoutes, to: scheme)
                return routes.enumerated().allSatisfy { index, route in
                    guard let first = answers.lookup.firstCovering(route) else { return false }
                    return answers.routes[first].position <= index
                }
            }
        )
    }

    /// The maximum number of routes with `respond`.
    package static let fixedRouteLimit = 256

    /// Returns findings for routes with `respond` that have no effect, and for routes that they
    /// hide.
    func fixedContradictions(_ lookup: RouteLookup) -> [ConfigurationError.Finding] {
        guard let last = fixedRoutes.last else { return [] }
        var findings: [ConfigurationError.Finding] = []
        func report(_ route: FixedRoute, _ setting: String?, _ message: String) {
            findings.append(
                .init(
                    file: route.file ?? file,
                    line: route.line,
                    subject: route.subject,
                    setting: setting,
                    message: message
                )
            )
        }
        func message(hiddenBy other: String, _ otherFile: String?, _ line: Int?, from own: String?) -> String {
            let place = line.map { " (\(Place(otherFile ?? file, $0, from: own ?? file)))" } ?? ""
            return
                "No request can reach it: \(other)\(place) comes first and matches all of its requests. Move it up, or remove it."
        }
        if fixedRoutes.count > Self.fixedRouteLimit {
            report(last, "respond", "\(fixedRoutes.count) routes have it. The limit is \(Self.fixedRouteLimit).")
        }
        var names = Set(lookup.named.keys)
        for route in fixedRoutes {
            guard let name = route.name, !names.insert(name).inserted else { continue }
            report(route, "name", "Another route has this name. Rename one of them.")
        }
        let unconditional = fixedRoutes.filter { !$0.isConditional }
        let hiding = RouteLookup(unconditional.map(\.sameRequests))
        let redirects = RedirectCheck(self, lookup)
        for route in fixedRoutes {
            checkPath(route.path) { report(route, "path", $0) }
            if let host = route.host, let fault = Self.fault(ofHost: host) { report(route, "host", fault) }
            for fault in route.conditions.faults { report(route, fault.setting, fault.message) }
            if let index = lookup.firstCovering(route.sameRequests), index < route.position {
                let (other, subject) = (routes[index], routes[index].subject(number: index + 1))
                report(route, nil, message(hiddenBy: subject, other.file, other.line, from: route.file))
            } else if let index = hiding.firstCovering(route.sameRequests), unconditional[index].number < route.number {
                let other = unconditional[index]
                report(route, nil, message(hiddenBy: other.subject, other.file, other.line, from: route.file))
            }
            switch redirects.fault(of: route) {
            case .everyRequest: report(route, "respond", RedirectCheck.Fault.everyRequest.message)
            case .behindProxy where route.scheme != nil:
                report(route, "respond", RedirectCheck.Fault.behindProxy.message)
            case .behindProxy, nil: break
            }
        }
        for (index, route) in routes.enumerated() {
            guard let first = hiding.firstCovering(route), unconditional[first].position <= index else { continue }
            let other = unconditional[first]
            findings.append(
                .init(
                    file: route.file ?? file,
                    line: route.line,
                    subject: route.subject(number: index + 1),
                    setting: nil,
                    message: message(hiddenBy: other.subject, other.file, other.line, from: route.file)
                )
            )
        }
        return findings
    }
}

extension Readers {
    /// The conditions of a route with `respond`.
    static let fixedRouteMatchShape = Shape.mapping([
        .init("scheme", .word(["http", "https"])), .init("cookie", .valuesByName, describedBy: "match.cookie"),
        .init("field", .valuesByName, describedBy: "match.field"),
        .init("query", .valuesByName, describedBy: "match.query"),
    ])

    /// Reads the conditions of a route with `respond`.
    static func match(_ value: FileValue, _ route: inout Configuration.FixedRoute) throws(Refusal) {
        let known = ["scheme", "cookie", "field", "query"]
        for entry in try value.entries("conditions (\(known.joined(separator: ", ")))") {
            switch entry.key {
            case "scheme": route.scheme = try entry.value.word([("http", "http"), ("https", "https")])
            case "cookie": route.conditions.cookies = try valuesByName(entry.value, "cookies")
            case "field": route.conditions.fields = try valuesByField(entry.value)
            case "query": route.conditions.query = try valuesByName(entry.value, "parameters")
            default: throw unknown(entry, of: known)
            }
        }
        guard route.isConditional else { throw Refusal("It has no conditions. Add one, or remove 'match'.") }
    }
}
