public import HTTPCache
import HTTPCacheSemantics

/// A gateway's mode, as returned by the control plane.
public struct ModeReport: Sendable, Hashable, Codable {
    /// The mode in effect.
    public var mode: OfflineMode
    /// The configured mode, which takes effect again at ``until``.
    public var configured: OfflineMode
    /// The time when the temporary mode ends, as RFC 3339 text; `nil` if the configured mode is in
    /// effect.
    public var until: String?
    /// The time when the temporary mode was set.
    public var since: String?
    /// The reason that the client stated.
    public var reason: String?
    /// The client that set the temporary mode.
    public var by: String?

    /// Creates the report for a state.
    public init(_ state: ModeState) {
        mode = state.value
        configured = state.configured
        guard let temporary = state.temporary else { return }
        until = EndTime.text(temporary.until)
        since = EndTime.text(temporary.since)
        reason = temporary.reason
        by = temporary.client
    }
}
