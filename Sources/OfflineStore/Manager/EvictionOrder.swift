extension CacheManager {
    /// The order in which entries are evicted when space is needed.
    public enum EvictionOrder: Sendable, Hashable {
        /// The entries that have not been used for the longest time come first.
        case leastRecentlyUsed
        /// Responses that forbid stale use come first, in the order of their expiry, however
        /// recently they were used.
        ///
        /// All other entries follow, least recently used first. So an expired response that may be
        /// used offline outlives a fresh response that may not. Objects count as usable offline.
        case keepingOfflineCopies
    }
}
