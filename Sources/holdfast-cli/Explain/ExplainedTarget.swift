import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import HoldfastGateway

/// The target to explain, and how a configuration's routes led to it.
struct ExplainedTarget {
    let target: TargetURI
    /// Human-readable notes.
    var notes: [String] = []
    /// The scheme that a client uses, taken from its URL; `nil` for an origin's URL.
    private var clientScheme: String?

    /// - Throws: `ExitCode` if the routes cannot be used. Errors are written to standard error.
    init(_ url: TargetURI, _ file: Configuration) throws {
        guard !file.routes.isEmpty else {
            self.init(target: url)
            return
        }
        let routes = try ConfigurationFile.reporting { try GatewayRoutes(file.routes, file: file.file) }
        self.init(url, routes, rulesHavePaths: file.rules.havePaths)
    }

    private init(target: TargetURI) { self.target = target }

    init(_ url: TargetURI, _ routes: GatewayRoutes, rulesHavePaths: Bool) {
        defer {
            if routes.refuseDotSegments(of: url.requestTarget, rulesHavePaths: rulesHavePaths) {
                notes.append(
                    "the gateway would return 400: routes or rules match paths, and this path has a dot segment"
                )
            }
        }
        guard let mapping = routes.mapping(of: url) else {
            target = url
            notes = ["no route matches, so the gateway would return 404; explained as an origin URL instead"]
            return
        }
        target = mapping.target
        guard let route = mapping.route else {
            notes = ["an origin URL, used as it is"]
            return
        }
        clientScheme = url.scheme
        let name = route.name.map { "route '\($0)'" } ?? "a route"
        notes = ["client URL '\(url.redacted)'; \(name) forwards it to '\(route.origin.authority)'"]
        let types = route.rewriting.bodies.map { "'\($0)'" }.joined(separator: ", ")
        if types.isEmpty { return }
        notes.append("content of type \(types) is rewritten for the client; the store keeps the origin's content")
    }

    /// Adds the client's scheme, unless the fields already contain it. A gateway that serves
    /// clients over both schemes sends it to its origins, and stores separate responses for each
    /// scheme.
    mutating func addScheme(to fields: inout HTTPFields) {
        guard !fields.contains(.clientScheme) else { return }
        let scheme = clientScheme ?? "https"
        fields.append(HTTPField(name: .clientScheme, value: scheme))
        let other = scheme == "https" ? "http" : "https"
        notes.append(
            "for clients that use \(scheme); for \(other), add '--header \"X-Forwarded-Proto: \(other)\"'"
        )
    }
}
