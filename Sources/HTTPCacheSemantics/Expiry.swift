/// When a stored value stops being live.
public enum Expiry: Sendable, Hashable {
    /// It stays live until it is removed.
    case never
    /// It is live for this long after it was stored. Zero or less means that it expires at once.
    case after(Duration)
    /// It is live before this instant.
    case at(Timestamp)

    /// The first instant at which a value stored at `now` is no longer live.
    public func instant(storedAt now: Timestamp) -> Timestamp {
        switch self {
        case .never: .distantFuture
        case .after(let duration): now.adding(duration)
        case .at(let instant): instant
        }
    }
}
