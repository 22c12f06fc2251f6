import HTTPCache

/// How one value is had from store and network. The kind of strategy says how many values come
/// back: one of these, exactly one.
public struct SingleValueStrategy: Sendable, Hashable {
    let preference: CacheRequest.Preference
    /// How long the network is waited for where something is stored.
    var softTimeout: Duration?

    /// Whether what is stored may answer without the network being asked.
    var isServedStored: Bool { preference != .networkOnly && preference != .networkFirst }

    /// RFC 9111: a fresh stored value at once; a stale one is validated first. What is stored
    /// answers for an origin that cannot be reached.
    public static let standard = SingleValueStrategy(preference: .standard)
    /// The stored value at once, however stale (the emission says so); the network only where
    /// nothing usable is stored.
    public static let storedFirst = SingleValueStrategy(preference: .storedFirst)
    /// The stored value at once, however stale; where it is stale, the origin is asked in the
    /// background, for the next call. The network where nothing usable is stored.
    public static let staleWhileRevalidate = SingleValueStrategy(preference: .staleWhileRevalidate)
    /// The network's value; the stored one where the origin cannot be reached, too many other
    /// requests are under way to it, or it sends what is no value of the type.
    public static let networkFirst = SingleValueStrategy(preference: .networkFirst)
    /// The network's value; the stored one where the origin cannot be reached, or has not answered
    /// in time. The request goes on, and its answer is stored.
    ///
    /// - Parameter timeout: counts only where something is stored; without that the network is
    ///   waited for.
    public static func networkFirst(timeout: Duration) -> SingleValueStrategy {
        SingleValueStrategy(preference: .networkFirst, softTimeout: timeout)
    }
    /// The network's value or none.
    public static let networkOnly = SingleValueStrategy(preference: .networkOnly)
}

/// The stored value, however stale, or none; the network is not asked.
public struct StoredOnlyStrategy: Sendable, Hashable {
    /// The only one of its kind.
    public static let storedOnly = StoredOnlyStrategy()
}

/// The stored value, where there is one, and then the network's: a stream.
public struct CacheAndNetworkStrategy: Sendable, Hashable {
    /// The only one of its kind.
    public static let cacheAndNetwork = CacheAndNetworkStrategy()
}

/// How a two-value stream ends when the stored value was emitted and the network then failed.
public enum NetworkFailure: Sendable, Hashable {
    /// By throwing the failure: the origin could not be reached, or sent what is no value of the
    /// type. The default: the caller learns that what it shows was not confirmed.
    case throwing
    /// As if complete.
    case endingQuietly
}
