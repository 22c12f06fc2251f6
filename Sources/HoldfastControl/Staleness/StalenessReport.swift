public import HTTPCache

/// How stale a response may be while its origin fails, as clients of the control plane receive it.
public struct StalenessReport: Sendable, Hashable, Codable {
    /// The staleness that every response may have at least: `2d`. `configured` if only the limits
    /// of responses and rules apply.
    public var staleness: String
    /// The same in seconds; `nil` for `configured`.
    public var seconds: Int64?
    /// When the extension ends, as RFC 3339; `nil` if there is none.
    public var until: String?
    /// When it was set.
    public var since: String?
    /// Why it was set.
    public var reason: String?
    /// The client that set it.
    public var by: String?

    /// The value that means only the limits of responses and rules apply.
    public static let configured = "configured"

    /// Creates the report of a state.
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
