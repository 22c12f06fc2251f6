public import HTTPCache
import HTTPCacheSemantics

/// A gateway's mode, as clients of the control plane receive it.
public struct ModeReport: Sendable, Hashable, Codable {
    /// The mode in effect.
    public var mode: OfflineMode
    /// The configured mode, which is in effect again after ``until``.
    public var configured: OfflineMode
    /// When the mode ends, as RFC 3339; `nil` if it is the configured mode.
    public var until: String?
    /// When it was set.
    public var since: String?
    /// Why it was set.
    public var reason: String?
    /// The client that set it.
    public var by: String?

    /// Creates the report of a state.
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
