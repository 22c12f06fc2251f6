public import HTTPCacheSemantics

/// The effect of an invalidation on stored responses. RFC 9111 §4.4
public enum InvalidationEffect: Sendable, Hashable {
    /// The stored responses are removed.
    case remove
    /// The stored responses are kept and marked (`StoredResponseHead.invalidation`).
    case mark(InvalidationCause)
}

/// A number in the store's single sequence of invalidations. It only increases, even across
/// restarts.
public struct InvalidationSequence: Sendable, Hashable, Comparable {
    /// The position in the sequence; 0 before the first invalidation.
    public let number: Int64
    /// Creates a number that the store has assigned to an invalidation.
    public init(_ number: Int64) { self.number = number }
    /// Returns whether the first invalidation is earlier.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

/// The stored responses that an invalidation covers.
public enum InvalidationScope: Sendable {
    /// Everything stored for a target URI, in all partitions and with all methods and variants.
    case target(TargetURI)
    /// Everything stored for target URIs that start with the given bytes, in all partitions and
    /// with all methods and variants.
    ///
    /// A store may also reject in-flight fetches that the prefix does not cover, if they are from
    /// the same origin and began before the invalidation.
    case prefix(TargetPrefix)
    /// Everything stored for target URIs with the given host, for both schemes and every port, in
    /// all partitions and with all methods and variants.
    ///
    /// A store may reject every in-flight fetch that began before the invalidation.
    case host(TargetHost)
    /// A key with all of its variants.
    case key(StoreKey)
    /// Everything stored under a tag (``ResponseDraft/tags``), in all partitions. Tags are compared
    /// byte by byte.
    case tag(String)
    /// Everything stored for a principal, as named by callers (``CacheRequest/principal``). Names
    /// are compared by their bytes. Responses that all principals share are not covered.
    case principal(String)
    /// Every response.
    case all
}

extension InvalidationScope {
    /// Returns whether the scope covers a response that is stored under the given key with the
    /// given tags.
    package func covers(_ key: StoreKey, tags: [String] = []) -> Bool {
        switch self {
        case .target(let target): key.components.target == target
        case .prefix(let prefix): prefix.covers(key)
        case .host(let host): host.covers(key)
        case .key(let other): other == key
        case .tag(let tag): tags.containsBytes(of: tag)
        case .principal(let name): KeyOwner(name).covers(key)
        case .all: true
        }
    }
}

/// Tags and principals are compared by their bytes, as stores compare them.
extension InvalidationScope: Hashable {
    /// Returns whether both scopes cover the same responses.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.target(let one), .target(let another)): one == another
        case (.prefix(let one), .prefix(let another)): one == another
        case (.host(let one), .host(let another)): one == another
        case (.key(let one), .key(let another)): one == another
        case (.tag(let one), .tag(let another)): one.hasSameBytes(as: another)
        case (.principal(let one), .principal(let another)): one.hasSameBytes(as: another)
        case (.all, .all): true
        case (.target, _), (.prefix, _), (.host, _), (.key, _), (.tag, _), (.principal, _), (.all, _): false
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
        case .principal(let name): hasher.combine(bytesOf: name)
        case .all: hasher.combine(0)
        }
    }
}
