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
    /// Why it has no effect, if a reload removed what it names, or if the gateway's mode is
    /// stricter; otherwise `nil`.
    package var noEffect: String?

    /// Creates the report of a switch.
    ///
    /// - Parameters:
    ///   - missing: the subjects that the configuration does not have.
    ///   - gatewayMode: the gateway's mode; `nil` for a drain, which does not depend on it.
    init(_ one: Switch, missing: Set<Switch.Subject>, under gatewayMode: OfflineMode? = nil) {
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
        noEffect = missing.contains(one.subject) ? one.subject.absence : Self.restriction(of: one.mode, by: gatewayMode)
    }

    /// Returns why a mode of an origin or a route has no effect under the gateway's mode: the
    /// strictest mode wins.
    private static func restriction(of mode: OfflineMode?, by gatewayMode: OfflineMode?) -> String? {
        guard let mode, let gatewayMode, OfflineMode.leastNetwork(mode, gatewayMode) != mode else { return nil }
        return "the gateway's mode is '\(gatewayMode.rawValue)', which is stricter"
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
