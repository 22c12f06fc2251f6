public import HTTPCacheSemantics

/// A stored value of any age, with its times.
public struct StoredObject<Value> {
    /// The value.
    public var value: Value
    /// When it was stored.
    public var storedAt: Timestamp
    /// The first instant at which it is no longer live; `nil` if it never expires.
    public var expiresAt: Timestamp?
    /// Whether it is no longer live: it expired, it was stored while the clock was ahead, or it is
    /// distrusted.
    ///
    /// The store distrusts entries if it may have lost invalidations.
    public var isExpired: Bool
    /// The time since it expired, as of the call that read it; zero if it is live, or if the clock
    /// was turned back.
    public var staleness: Duration
    /// The time since it was stored, as of the call that read it; zero if the clock was turned
    /// back.
    public var age: Duration

    /// Creates a stored value.
    ///
    /// - Parameters:
    ///   - isDistrusted: whether it is expired regardless of `expiresAt`.
    ///   - now: the instant at which it is read.
    package init(
        value: Value,
        storedAt: Timestamp,
        expiresAt: Timestamp?,
        isDistrusted: Bool = false,
        at now: Timestamp
    ) {
        self.value = value
        self.storedAt = storedAt
        self.expiresAt = expiresAt
        isExpired = isDistrusted || expiresAt.map { $0.isOver(at: now, storedAt: storedAt) } ?? false
        staleness = .milliseconds(max(0, expiresAt.map { now.milliseconds(since: $0) } ?? 0))
        age = .milliseconds(max(0, now.milliseconds(since: storedAt)))
    }
}

extension StoredObject: Sendable where Value: Sendable {}
extension StoredObject: Equatable where Value: Equatable {}
