/// The time at which a stored value expires.
public enum Expiry: Sendable, Hashable {
    /// Never; the value stays until it is removed.
    case never
    /// This long after it was stored. Zero or less expires it immediately.
    case after(Duration)
    /// At this instant.
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
