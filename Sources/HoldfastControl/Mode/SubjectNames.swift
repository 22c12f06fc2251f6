import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// Finds the origin, route or server that a client names.
struct SubjectNames {
    /// The origins that routes lead to.
    let origins: [String]
    /// The names of the routes.
    let routes: [String]
    /// The names of the servers by their origin's URL.
    let servers: [String: [String]]
    /// The switches in force. They can be ended even if a reload removed their subject.
    let switches: Switches

    init(_ operations: any CacheOperations) {
        origins = operations.routedOrigins
        routes = operations.routeNames
        servers = operations.originServers.mapValues { $0.map(\.name) }
        switches = operations.switches
    }

    init(origins: [String], routes: [String], servers: [String: [String]], switches: Switches) {
        self.origins = origins
        self.routes = routes
        self.servers = servers
        self.switches = switches
    }

    /// The subjects of switches that have no effect, because they do not exist.
    var missing: Set<Switch.Subject> {
        Set(switches.withoutSubject(origins: origins, routes: routes, servers: servers).map(\.subject))
    }

    /// Returns the subject of a mode; `nil` if the client names neither an origin nor a route, and
    /// thus the whole gateway.
    ///
    /// - Throws: ``ControlProblem`` if the subject is unknown.
    func subject(origin: String?, route: String?) throws(ControlProblem) -> Switch.Subject? {
        switch (origin, route) {
        case (nil, nil): return nil
        case (.some, let route?):
            throw ControlProblem(
                .invalidRequest,
                "'origin' and 'route' both name what is switched. Use one of them.",
                field: "route",
                value: route
            )
        case (let origin?, nil):
            let url = Self.normalForm(origin)
            let advice = advice(for: origin)
            return try known(.origin(url: url), origins.contains(url), "origin", origin, "an origin of a route", advice)
        case (nil, let route?):
            let advice = routes.isEmpty ? "No route has a name." : "Routes: \(Self.list(routes, like: route))."
            return try known(.route(name: route), routes.contains(route), "route", route, "the name of a route", advice)
        }
    }

    /// Returns one of an origin's servers as a subject. A server with a URL may be named without
    /// its scheme if no other server has this name.
    ///
    /// - Throws: ``ControlProblem`` if the server is unknown.
    func subject(server: String, of origin: String) throws(ControlProblem) -> Switch.Subject {
        let url = Self.normalForm(origin)
        let others = servers[url] ?? []
        let withScheme = others.contains(server) ? [] : others.filter { $0.hasSuffix("://\(server)") }
        let name = withScheme.count == 1 ? withScheme[0] : server
        let subject = Switch.Subject.server(name: name, origin: url)
        if others.isEmpty, switches.of(subject) == nil {
            throw ControlProblem(
                .invalidRequest,
                "'origin' must be an origin with an entry in 'origins', not '\(ControlProblem.shown(origin))'. "
                    + "To keep requests away from another origin, switch its mode to 'offline'.",
                field: "origin",
                value: origin
            )
        }
        let list = others.map { "'\($0)'" }.joined(separator: ", ")
        let advice = "Write the name as 'GET /v1/origins' shows it."
        return try known(subject, others.contains(name), "server", server, "one of \(list)", advice)
    }

    private func known(
        _ subject: Switch.Subject,
        _ exists: Bool,
        _ field: String,
        _ value: String,
        _ expected: String,
        _ advice: String
    ) throws(ControlProblem) -> Switch.Subject {
        if exists || switches.of(subject) != nil { return subject }
        throw ControlProblem(
            .invalidRequest,
            "'\(field)' must be \(expected), not '\(ControlProblem.shown(value))'. \(advice)",
            field: field,
            value: value
        )
    }

    /// Returns the next step for an origin that is unknown: its likely correction, or a list.
    private func advice(for origin: String) -> String {
        if !origin.contains("://"), let target = try? TargetURI("http://\(origin)") {
            let matching = origins.filter { $0.hasSuffix("://\(target.authority)") }
            if let match = matching.first { return "Add the scheme: '\(match)'." }
        }
        if let target = try? TargetURI(origin), origins.contains("\(target.scheme)://\(target.authority)") {
            return "Leave out the path: '\(target.scheme)://\(target.authority)'."
        }
        return origins.isEmpty ? "No route has an origin." : "Origins: \(Self.list(origins, like: origin))."
    }

    /// The maximum number of names in a message.
    private static let listLimit = 10

    /// Returns known names for a message; those that begin most like the unknown one come first.
    private static func list(_ names: [String], like value: String) -> String {
        let wanted = value.lowercased()
        func similarity(_ name: String) -> Int { zip(name.lowercased(), wanted).prefix { $0 == $1 }.count }
        let sorted = names.map { (-similarity($0), $0) }.sorted { $0 < $1 }.map { "'\($0.1)'" }
        let more = names.count > listLimit ? ", and \(names.count - listLimit) more" : ""
        return sorted.prefix(listLimit).joined(separator: ", ") + more
    }

    /// Returns an origin in the form that reports use.
    private static func normalForm(_ origin: String) -> String {
        guard let target = try? TargetURI(origin), target.path == "/", target.query == nil else { return origin }
        return "\(target.scheme)://\(target.authority)"
    }
}
