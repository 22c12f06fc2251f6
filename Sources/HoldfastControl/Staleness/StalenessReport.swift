import HTTPCache
package import HTTPCacheOperations

/// The staleness limit while origins fail, as returned by the control plane.
package struct StalenessReport: Sendable, Hashable, Codable {
    /// The minimum staleness limit of every response, such as `2d`; `configured` if only the limits
    /// of responses and rules apply.
    package var staleness: String
    /// The same limit in seconds; `nil` for `configured`.
    package var seconds: Int64?
    /// The time when the extension ends, as RFC 3339 text; `nil` if there is no extension.
    package var until: String?
    /// The time when the extension was set.
    package var since: String?
    /// The reason that the client stated.
    package var reason: String?
    /// The client that set the extension.
    package var by: String?

    /// The value of ``staleness`` if only the limits of responses and rules apply.
    package static let configured = "configured"

    /// Creates the report for a state.
    package init(_ state: StalenessState) {
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
