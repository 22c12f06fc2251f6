/// The time at which a stored value expires.
public enum Expiry: Sendable, Hashable {
    /// The value never expires. It stays until it is removed.
    case never
    /// The value expires this long after it was stored; with zero or less, immediately.
    case after(Duration)
    /// The value expires at this instant.
    case at(Timestamp)

    /// Returns the first instant at which a value stored at `now` has expired.
    public func instant(storedAt now: Timestamp) -> Timestamp {
        switch self {
        case .never: .distantFuture
        case .after(let duration): now.adding(duration)
        case .at(let instant): instant
        }
    }
}
