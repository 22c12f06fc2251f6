import HTTPCache

/// How one value is had from store and network. The kind of strategy says how many values come back: one of these, exactly one.
public struct SingleValueStrategy: Sendable, Hashable {
    let preference: CacheRequest.Preference

    /// RFC 9111: a fresh stored value at once; a stale one is validated first. What is stored answers for an origin that cannot be
    /// reached.
    public static let standard = SingleValueStrategy(preference: .standard)
    /// The stored value at once, however stale (the emission says so); the network only where nothing usable is stored.
    public static let storedFirst = SingleValueStrategy(preference: .storedFirst)
    /// The network's value; the stored one where the origin cannot be reached.
    public static let networkFirst = SingleValueStrategy(preference: .networkFirst)
    /// The network's value or none.
    public static let networkOnly = SingleValueStrategy(preference: .networkOnly)
}

/// The stored value, however stale, or none; the network is not asked.
public struct StoredOnlyStrategy: Sendable, Hashable {
    /// The only one of its kind.
    public static let storedOnly = StoredOnlyStrategy()
}

/// How a two-value stream ends when the stored value was emitted and the network then failed.
public enum NetworkFailure: Sendable, Hashable {
    /// By throwing the failure. The default: the caller learns that what it shows was not confirmed.
    case throwing
    /// As if complete.
    case endingQuietly
}
