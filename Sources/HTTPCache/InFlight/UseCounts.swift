package import HTTPCacheSemantics

/// Counts how often responses that are not stored were asked for: see
/// ``ExchangeSettings/leastUses``.
///
/// It keeps hashes instead of keys. If two keys have one hash, their uses are added up, and a
/// response is stored earlier.
package struct UseCounts: Sendable {
    /// The number of keys that are remembered at least. Up to twice as many are kept.
    package static let limit = 32_768
    private static let highest = 1_000

    /// The keys asked for last, and the keys asked for before them. When the first are ``limit``,
    /// they replace the second: a flood of keys forgets others, at a constant cost for each.
    private var new: [Int: Int] = [:]
    private var old: [Int: Int] = [:]

    package init() {}

    /// The number of remembered keys.
    package var count: Int { new.count + old.count }

    /// Adds uses of a key, and returns the number of its uses.
    package mutating func add(_ uses: Int, to key: StoreKey) -> Int {
        let hash = key.hashValue
        let before = new[hash] ?? old.removeValue(forKey: hash) ?? 0
        if new[hash] == nil, new.count >= Self.limit {
            old = new
            new = [:]
        }
        // More make no difference.
        let sum = min(before, Self.highest) + min(uses, Self.highest)
        new[hash] = sum
        return sum
    }
}
