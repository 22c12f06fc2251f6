public import HTTPCache

/// How stale responses may be while their origin fails, as clients of the control plane get it.
public struct StalenessReport: Sendable, Hashable, Codable {
    /// How stale every response may at least be: `2d`; `configured` if the limits of responses and
    /// rules count alone.
    public var staleness: String
    /// The same in seconds; `nil` for `configured`.
    public var seconds: Int64?
    /// The end of the extension by RFC 3339; `nil` if there is none.
    public var until: String?
    /// When it was set.
    public var since: String?
    /// Why it was set.
    public var reason: String?
    /// The client that set it.
    public var by: String?

    /// The word for the limits of responses and rules alone.
    public static let configured = "configured"

    /// The report of a state.
    public init(_ state: StalenessState) {
        staleness = Self.configured
        guard let temporary = state.temporary else { return }
        staleness = EndTime.text(seconds: temporary.value.seconds)
        seconds = temporary.value.seconds
        until = EndTime.text(temporary.until)
        since = EndTime.text(temporary.since)
        reason = temporary.reason
        by = temporary.client
    }
}
