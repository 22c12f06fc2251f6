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
            return try known(.origin(url: url), origins.contains(url), "origin", origin, "an origin of a route")
        case (nil, let route?):
            return try known(.route(name: route), routes.contains(route), "route", route, "the name of a route")
        }
    }

    /// Returns one of an origin's servers as a subject.
    ///
    /// - Throws: ``ControlProblem`` if the server is unknown.
    func subject(server: String, of origin: String) throws(ControlProblem) -> Switch.Subject {
        let url = Self.normalForm(origin)
        let subject = Switch.Subject.server(name: server, origin: url)
        let others = servers[url] ?? []
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
        return try known(subject, others.contains(server), "server", server, "one of \(list)")
    }

    private func known(
        _ subject: Switch.Subject,
        _ exists: Bool,
        _ field: String,
        _ value: String,
        _ expected: String
    ) throws(ControlProblem) -> Switch.Subject {
        if exists || switches.of(subject) != nil { return subject }
        throw ControlProblem(
            .invalidRequest,
            "'\(field)' must be \(expected), not '\(ControlProblem.shown(value))'. Check the name, or reload the configuration.",
            field: field,
            value: value
        )
    }

    /// Returns an origin in the form that reports use.
    private static func normalForm(_ origin: String) -> String {
        guard let target = try? TargetURI(origin), target.path == "/", target.query == nil else { return origin }
        return "\(target.scheme)://\(target.authority)"
    }
}
