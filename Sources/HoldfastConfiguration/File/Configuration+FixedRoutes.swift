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
        /// The route's number in the file, from 1.
        var number: Int

        /// Whether the route matches only some of the requests for its host and path.
        var isConditional: Bool { scheme != nil || !conditions.isEmpty }

        /// Returns whether the route's conditions hold for a request with its host and path.
        package func holds(for request: HTTPRequest) -> Bool {
            if let scheme, scheme != request.scheme { return false }
            return conditions.isEmpty || conditions.hold(for: request)
        }

        /// The text by which messages refer to the route.
        var subject: String { name.map { "route \(shown($0))" } ?? "route \(number)" }

        /// A route with the same host and path, to compare it with others.
        var sameRequests: Route { Route(host: host, path: path, origin: "") }
    }

    /// The maximum number of routes with `respond`.
    package static let fixedRouteLimit = 256

    /// Returns findings for routes with `respond` that have no effect, and for routes that they
    /// hide.
    func fixedContradictions(_ lookup: RouteLookup) -> [ConfigurationError.Finding] {
        guard let last = fixedRoutes.last else { return [] }
        var findings: [ConfigurationError.Finding] = []
        func report(_ line: Int?, _ subject: String, _ setting: String?, _ message: String) {
            findings.append(.init(file: file, line: line, subject: subject, setting: setting, message: message))
        }
        func reportHidden(_ line: Int?, _ subject: String, by other: String, _ otherLine: Int?) {
            let place = otherLine.map { " (line \($0))" } ?? ""
            report(
                line,
                subject,
                nil,
                "No request can reach it: \(other)\(place) comes first and matches all of its requests."
            )
        }
        if routes.isEmpty {
            report(last.line, last.subject, "respond", "No route has an 'origin'. Add a route with one.")
        }
        if fixedRoutes.count > Self.fixedRouteLimit {
            let count = fixedRoutes.count
            report(last.line, last.subject, "respond", "\(count) routes have it. The limit is \(Self.fixedRouteLimit).")
        }
        var names = Set(lookup.named.keys)
        for route in fixedRoutes {
            guard let name = route.name, !names.insert(name).inserted else { continue }
            report(route.line, route.subject, "name", "Another route has this name. Rename one of them.")
        }
        let unconditional = fixedRoutes.filter { !$0.isConditional }
        let hiding = RouteLookup(unconditional.map(\.sameRequests))
        for route in fixedRoutes {
            checkPath(route.path) { report(route.line, route.subject, "path", $0) }
            if let host = route.host, let fault = Self.fault(ofHost: host) {
                report(route.line, route.subject, "host", fault)
            }
            for fault in route.conditions.faults { report(route.line, route.subject, fault.setting, fault.message) }
            if let index = lookup.firstCovering(route.sameRequests), index < route.position {
                reportHidden(
                    route.line,
                    route.subject,
                    by: routes[index].subject(number: index + 1),
                    routes[index].line
                )
            } else if let index = hiding.firstCovering(route.sameRequests), unconditional[index].number < route.number {
                reportHidden(route.line, route.subject, by: unconditional[index].subject, unconditional[index].line)
            }
        }
        for (index, route) in routes.enumerated() {
            guard let first = hiding.firstCovering(route), unconditional[first].position <= index else { continue }
            let subject = route.subject(number: index + 1)
            reportHidden(route.line, subject, by: unconditional[first].subject, unconditional[first].line)
        }
        return findings
    }
}

extension Readers {
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
