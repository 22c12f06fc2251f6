import HTTPCache

/// How the client obtains one value from store and network. The type of a strategy determines the
/// number of values: for this type, exactly one.
public struct SingleValueStrategy: Sendable, Hashable {
    let preference: CacheRequest.Preference
    /// How long the client waits for the network if a response is stored.
    var softTimeout: Duration?

    /// Whether a stored response may be returned without contacting the network.
    var isServedStored: Bool { preference != .networkOnly && preference != .networkFirst }

    /// RFC 9111: returns a fresh stored value at once; validates a stale one first. The stored
    /// value is used if the origin is unreachable.
    public static let standard = SingleValueStrategy(preference: .standard)
    /// Returns the stored value at once, however stale, unless a directive, a change of the
    /// resource or a rule's limit forbids it; the emission is marked. Otherwise uses the network.
    public static let storedFirst = SingleValueStrategy(preference: .storedFirst)
    /// Returns the stored value at once, however stale. If it is stale, the client contacts the
    /// origin in the background, for the next call. Uses the network if no usable value is stored.
    public static let staleWhileRevalidate = SingleValueStrategy(preference: .staleWhileRevalidate)
    /// Returns the network's value. Returns the stored one if the origin is unreachable, if it has
    /// too many other requests under way, or if its content cannot be read as the type.
    public static let networkFirst = SingleValueStrategy(preference: .networkFirst)
    /// Returns the network's value. Returns the stored one if the origin is unreachable, or does
    /// not respond in time. The request continues, and its response is stored.
    ///
    /// - Parameter timeout: applies only if a response is stored. Otherwise the client waits for
    ///   the network.
    public static func networkFirst(timeout: Duration) -> SingleValueStrategy {
        SingleValueStrategy(preference: .networkFirst, softTimeout: timeout)
    }
    /// Returns the network's value, or throws.
    public static let networkOnly = SingleValueStrategy(preference: .networkOnly)
}

/// Returns the stored value, however stale, or `nil`. It never contacts the network.
public struct StoredOnlyStrategy: Sendable, Hashable {
    /// The only one of its kind.
    public static let storedOnly = StoredOnlyStrategy()
}

/// Emits the stored value, if there is one, and then the network's, as a stream.
public struct CacheAndNetworkStrategy: Sendable, Hashable {
    /// The only one of its kind.
    public static let cacheAndNetwork = CacheAndNetworkStrategy()
}

/// How a two-value stream ends if the network fails after the stored value was emitted.
public enum NetworkFailure: Sendable, Hashable {
    /// It throws the failure: the origin was unreachable, or its content cannot be read as the
    /// type. The default, because the caller learns that the value was not confirmed.
    case throwing
    /// It completes without an error.
    case endingQuietly
}
