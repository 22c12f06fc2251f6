package import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// A mode of an origin or a route, or the drain of a server, as returned by the control plane.
package struct SwitchReport: Sendable, Hashable, Codable {
    /// The origin whose mode is set, or whose server is drained.
    package var origin: String?
    /// The route whose mode is set.
    package var route: String?
    /// The drained server.
    package var server: String?
    /// The mode; `nil` for a drained server.
    package var mode: OfflineMode?
    /// The time when it ends, as RFC 3339 text.
    package var until: String
    /// The time when it was set.
    package var since: String
    /// The reason that the client stated.
    package var reason: String?
    /// The client that set it.
    package var by: String
    /// Why it has no effect, if a reload removed what it names; otherwise `nil`.
    package var noEffect: String?

    /// Creates the report of a switch.
    ///
    /// - Parameter missing: the subjects that the configuration does not have.
    init(_ one: Switch, missing: Set<Switch.Subject>) {
        switch one.subject {
        case .origin(let url): origin = url
        case .route(let name): route = name
        case .server(let name, let url): (server, origin) = (name, url)
        }
        mode = one.mode
        until = EndTime.text(one.until)
        since = EndTime.text(one.since)
        reason = one.reason
        by = one.client
        noEffect = missing.contains(one.subject) ? one.subject.absence : nil
    }
}

/// The drained servers, as returned by the control plane.
package struct DrainsReport: Sendable, Hashable, Codable {
    /// The drains, in the order in which they were set.
    package var drains: [SwitchReport]

    init(_ names: SubjectNames) {
        let missing = names.missing
        drains = names.switches.drains.map { SwitchReport($0, missing: missing) }
    }
}
