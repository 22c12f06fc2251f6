public import HTTPCacheSemantics

/// A stored value with its times, whatever its age.
public struct StoredObject<Value> {
    /// The value.
    public var value: Value
    /// When it was stored.
    public var storedAt: Timestamp
    /// The first instant at which it is no longer live; `nil` when it never expires.
    public var expiresAt: Timestamp?
    /// Whether it is no longer live, by its expiry, because it was stored while the clock was
    /// ahead, or because the store had to distrust what it held (see ``StoreStatistics``).
    public var isExpired: Bool
    /// How long ago it expired, as of the call that read it; zero while it is live, and when the
    /// clock was turned back.
    public var staleness: Duration
    /// How long ago it was stored, as of the call that read it; zero when the clock was turned
    /// back.
    public var age: Duration

    /// Makes a stored value.
    ///
    /// - Parameters:
    ///   - isDistrusted: expired whatever `expiresAt` says.
    ///   - now: the instant it is read at.
    public init(value: Value, storedAt: Timestamp, expiresAt: Timestamp?, isDistrusted: Bool = false, at now: Timestamp)
    {
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
