import HTTPCacheSemantics

/// Remembers for a minute for which keys the last response could not be shared, so that requests
/// for them do not wait for each other.
///
/// A request that waits for such a response learns only that it needs its own, and has waited for
/// nothing. After a response was stored, the next requests share a fetch again.
///
/// It keeps hashes instead of keys. If two keys have one hash, some requests do not share a fetch.
struct UnsharedKeys: Sendable {
    /// The number of keys that are remembered for the whole time. Up to twice as many are kept.
    static let limit = 8192
    /// How long a key is remembered.
    static let duration = Duration.seconds(60)

    /// The keys noted last, and the keys noted before them. When the first are ``limit``, they
    /// replace the second: a flood of keys forgets others, at a constant cost for each.
    private var new: [Int: Timestamp] = [:]
    private var old: [Int: Timestamp] = [:]

    /// Whether nothing is remembered.
    var isEmpty: Bool { new.isEmpty && old.isEmpty }

    /// The number of remembered keys, including those whose time is over.
    var count: Int { new.count + old.count }

    /// Records that a response could not be shared.
    mutating func note(_ key: StoreKey, at now: Timestamp) {
        if new.count >= Self.limit {
            old = new
            new = [:]
        }
        new[key.hashValue] = now
        old[key.hashValue] = nil
    }

    /// Records that a response is being stored.
    mutating func forget(_ key: StoreKey) {
        guard !isEmpty else { return }
        new[key.hashValue] = nil
        old[key.hashValue] = nil
    }

    /// Returns whether the key's last response could not be shared.
    func contains(_ key: StoreKey, at now: Timestamp) -> Bool {
        guard !isEmpty, let since = new[key.hashValue] ?? old[key.hashValue] else { return false }
        // A clock that was set back also ends the entry.
        return now >= since && now < since.adding(Self.duration)
    }
}
