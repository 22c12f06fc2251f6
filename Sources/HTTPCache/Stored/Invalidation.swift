public import HTTPCacheSemantics

/// The effect of an invalidation on the stored responses. RFC 9111 §4.4
public enum InvalidationEffect: Sendable, Hashable {
    /// The stored responses are removed.
    case remove
    /// The stored responses are kept and marked (`StoredResponseHead.invalidation`).
    case mark(InvalidationCause)
}

/// A number in the store's one sequence of invalidations. It only grows, also across restarts.
public struct InvalidationSequence: Sendable, Hashable, Comparable {
    /// Its place in the sequence; 0 before the first invalidation.
    public let number: Int64
    /// The number of an invalidation, as the store numbers them.
    public init(_ number: Int64) { self.number = number }
    /// The earlier invalidation is smaller.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// The stored responses that an invalidation covers.
public enum InvalidationScope: Sendable {
    /// Everything stored for a target URI, in all partitions, methods and variants.
    case target(TargetURI)
    /// Everything stored for the target URIs that begin with some bytes, in all partitions, methods
    /// and variants.
    ///
    /// A store may reject more in-flight fetches than the prefix covers: those of the same origin
    /// that began before the invalidation.
    case prefix(TargetPrefix)
    /// Everything stored for the target URIs of a host, of both schemes and on every port, in all
    /// partitions, methods and variants.
    ///
    /// A store may reject every in-flight fetch that began before the invalidation.
    case host(TargetHost)
    /// One key with all its variants.
    case key(CacheKey)
    /// Everything stored under a tag (``ResponseDraft/tags``), in all partitions. Tags are compared
    /// by their bytes.
    case tag(String)
    /// Every response.
    case all
}

/// Tags are compared by their bytes, as stores compare them.
extension InvalidationScope: Hashable {
    /// Whether both cover the same responses.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.target(let one), .target(let another)): one == another
        case (.prefix(let one), .prefix(let another)): one == another
        case (.host(let one), .host(let another)): one == another
        case (.key(let one), .key(let another)): one == another
        case (.tag(let one), .tag(let another)): one.hasSameBytes(as: another)
        case (.all, .all): true
        case (.target, _), (.prefix, _), (.host, _), (.key, _), (.tag, _), (.all, _): false
        }
    }

    /// Hashes the same parts that equality compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .target(let target): hasher.combine(target)
        case .prefix(let prefix): hasher.combine(prefix)
        case .host(let host): hasher.combine(host)
        case .key(let key): hasher.combine(key)
        case .tag(let tag): hasher.combine(bytesOf: tag)
        case .all: hasher.combine(0)
        }
    }
}
