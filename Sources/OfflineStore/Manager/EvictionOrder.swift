extension CacheManager {
    /// The order in which entries are evicted when space is needed.
    public enum EvictionOrder: Sendable, Hashable {
        /// The entries that are worth least come first: those that have not been used for the
        /// longest time, compared with how often they were used and how small they are.
        case leastRecentlyUsed
        /// Responses that forbid stale use come first, in the order of their expiry, however
        /// recently they were used.
        ///
        /// All other entries follow, the ones that are worth least first. So an expired response
        /// that may be used offline outlives a fresh response that may not. Objects count as usable
        /// offline.
        case keepingOfflineCopies
    }
}
