public import HTTPCache
import HTTPCacheSemantics

/// The mode of a gateway, as clients of the control plane get it.
public struct ModeReport: Sendable, Hashable, Codable {
    /// The mode in force.
    public var mode: OfflineMode
    /// The mode of the configuration, which is in force again after ``until``.
    public var configured: OfflineMode
    /// The end of the mode by RFC 3339; `nil` if it is the configured one.
    public var until: String?
    /// When it was set.
    public var since: String?
    /// Why it was set.
    public var reason: String?
    /// The client that set it.
    public var by: String?

    /// The report of a state.
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
