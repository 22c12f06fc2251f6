package import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// A gateway's mode, as returned by the control plane.
package struct ModeReport: Sendable, Hashable, Codable {
    /// The mode in effect.
    package var mode: OfflineMode
    /// The configured mode, which takes effect again at ``until``.
    package var configured: OfflineMode
    /// The time when the temporary mode ends, as RFC 3339 text; `nil` if the configured mode is in
    /// effect.
    package var until: String?
    /// The time when the temporary mode was set.
    package var since: String?
    /// The reason that the client stated.
    package var reason: String?
    /// The client that set the temporary mode.
    package var by: String?
    /// The modes of origins and routes, which can only restrict ``mode``; `nil` if there are none.
    package var switches: [SwitchReport]?

    /// Creates the report for a state.
    init(_ state: ModeState, _ names: SubjectNames) {
        mode = state.value
        configured = state.configured
        let missing = names.missing
        let modes = names.switches.modes.map { SwitchReport($0, missing: missing, under: state.value) }
        switches = modes.isEmpty ? nil : modes
        guard let temporary = state.temporary else { return }
        until = EndTime.text(temporary.until)
        since = EndTime.text(temporary.since)
        reason = temporary.reason
        by = temporary.client
    }
}
