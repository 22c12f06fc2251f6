import HTTPCache

/// How the client obtains one value from the store and the network.
///
/// A strategy uses a stale stored value only if no directive (such as `must-revalidate`), change to
/// the resource or limit of a rule forbids it. A response with status 500, 502, 503 or 504 is
/// replaced by the stored value only if the value is fresh, or if `stale-if-error` or a rule allows
/// it (RFC 5861 §4).
public struct SingleValueStrategy: Sendable, Hashable {
    let preference: CacheRequest.Preference
    /// The time to wait for the network if a response is stored.
    var softTimeout: Duration?

    /// Whether a stored response may be returned without contacting the network.
    var isServedStored: Bool { preference != .networkOnly && preference != .networkFirst }

    /// Follows RFC 9111: returns a fresh stored value immediately, and validates a stale stored
    /// value first. Uses the stored value if the origin is unreachable.
    public static let standard = SingleValueStrategy(preference: .standard)
    /// Returns the stored value immediately, however stale. A stale value is marked. Uses the
    /// network if no usable value is stored.
    public static let storedFirst = SingleValueStrategy(preference: .storedFirst)
    /// Returns the stored value immediately, however stale. If it is stale, the client contacts the
    /// origin in the background, for the next call. Uses the network if no usable value is stored.
    public static let staleWhileRevalidate = SingleValueStrategy(preference: .staleWhileRevalidate)
    /// Returns the network's value. Falls back to the stored value if the origin is unreachable, if
    /// too many other requests to the origin are in flight, or if the response's content cannot be
    /// read as the type.
    public static let networkFirst = SingleValueStrategy(preference: .networkFirst)
    /// Returns the network's value. Falls back to the stored value as ``networkFirst`` does, and
    /// also if the origin does not respond in time. In that case, the request continues, and its
    /// response is stored.
    ///
    /// - Parameter timeout: the time to wait for the network if a response is stored. If none is
    ///   stored, this limit does not apply.
    public static func networkFirst(timeout: Duration) -> SingleValueStrategy {
        SingleValueStrategy(preference: .networkFirst, softTimeout: timeout)
    }
    /// Returns the network's value, or throws.
    public static let networkOnly = SingleValueStrategy(preference: .networkOnly)
}

/// How a two-value stream ends if the network fails after the stored value was emitted.
public enum NetworkFailure: Sendable, Hashable {
    /// It throws the error. This is the default, because the error tells the caller that the value
    /// was not confirmed.
    case throwing
    /// It completes without an error, or keeps following the store (``CallOptions/followsStore``),
    /// in these cases:
    /// - The origin was unreachable, had no permit, timed out or failed (5xx).
    /// - The content broke off, cannot be read as the type, or failed a validation.
    /// - A redirect could not be followed.
    ///
    /// Other errors are still thrown: rejected credentials, a status below 500, content that is too
    /// large, and failures that an envelope or a GraphQL response reports.
    case endingQuietly
}
