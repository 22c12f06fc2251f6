import HTTPCacheSemantics
import HTTPTypes
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import NIOCore

/// The target to explain, and how a gateway's configuration led to it.
struct ExplainedTarget {
    let target: TargetURI
    /// The gateway's own response, which it makes without the cache; `nil` if there is none.
    private(set) var answer: GatewayAnswer?
    /// Human-readable notes.
    private(set) var notes: [String] = []
    /// The scheme that a client uses, taken from its URL; `nil` for an origin's URL.
    private var clientScheme: String?
    /// Whether the gateway is a forward proxy for the target. Such origins learn nothing about its
    /// clients.
    private var isForwarded = false

    /// A target that is no gateway's.
    init(target: TargetURI) { self.target = target }

    /// - Parameter asked: the request. If it names its client, its URL is one that clients request.
    init(_ asked: AnswerForecast.Request, _ forecast: AnswerForecast, at now: NIODeadline = .now()) {
        let url = asked.target
        let mapping = forecast.routes.mapping(of: url, isClients: asked.client != nil)
        isForwarded = mapping.flatMap { forecast.routes.endpoint(for: $0.target) }?.isNamedByClient == true
        if let mapping, mapping.route == nil {
            target = url
            notes = ["an origin URL, used as it is"]
            answer = forecast.answerToPurge(asked)
            if forecast.refusesDotSegments(of: url) {
                notes.append(
                    "the gateway would return 400: routes or rules match paths, and this path has a dot segment"
                )
            }
            return
        }
        let result = forecast.result(for: asked, at: now)
        answer = result.answer
        notes = result.notes
        guard let mapping, let route = mapping.route else {
            target = url
            if answer?.code != nil { notes.append("no route matches; explained as an origin URL instead") }
            return
        }
        target = mapping.target
        clientScheme = url.scheme
        // A route with 'respond' may come first.
        if answer != nil, answer?.code == nil { return }
        let name = route.name.map { "route '\($0)'" } ?? "a route"
        let origin = isForwarded ? target.authority : route.origin.authority
        notes.insert("client URL '\(url.redacted)'; \(name) forwards it to '\(origin)'", at: 0)
        let types = route.rewriting.bodies.map { "'\($0)'" }.joined(separator: ", ")
        if types.isEmpty { return }
        notes.append("content of type \(types) is rewritten for the client; the store keeps the origin's content")
    }

    /// Adds a note.
    mutating func add(_ note: String) { notes.append(note) }

    /// Adds the client's scheme, unless the fields already contain it. A gateway that serves
    /// clients over both schemes sends it to its origins, and stores separate responses for each
    /// scheme.
    mutating func addScheme(to fields: inout HTTPFields) {
        guard !isForwarded, !fields.contains(.clientScheme) else { return }
        let scheme = clientScheme ?? "https"
        fields.append(HTTPField(name: .clientScheme, value: scheme))
        let other = scheme == "https" ? "http" : "https"
        // A gateway ignores the field of a client that it does not trust.
        let field = "add '--header \"X-Forwarded-Proto: \(other)\"'"
        let advice = clientScheme == nil ? field : "use the URL with '\(other)://'"
        notes.append("for clients that use \(scheme); for \(other), \(advice)")
    }
}
