extension CacheManager {
    /// Which entries go first when room is needed.
    public enum EvictionOrder: Sendable, Hashable {
        /// The entries that were not used for the longest time.
        case leastRecentlyUsed
        /// First what is of no use when the network is away, however recently it was used:
        /// responses that forbid stale use, those that expire first before others. Only then
        /// everything else, the least recently used first.
        ///
        /// An expired response that may be used offline outlives a fresh one that may not. Objects
        /// count as useful offline.
        case keepingOfflineCopies
    }
}
