/// The tags that exceed their quotas, and the progress of evicting their entries. The writer keeps
/// this between steps of its housekeeping.
struct QuotaWork {
    /// The eviction for one tag. First all entries with the tag are ranked, and then the first ones
    /// in the eviction order are evicted.
    struct Round {
        let tag: TagName
        let tagID: Int64
        /// The last entry that was ranked.
        var cursor = Int64.min
        var candidates: EvictionCandidates
        /// The entries to evict, in reverse order; `nil` until all entries are ranked.
        var victims: [EvictionCandidates.Candidate]?
        var evicted = 0
    }

    private(set) var tags: Set<TagName> = []
    var round: Round?
    /// The number of the last tag checked since opening; `nil` once all are checked. The quotas may
    /// have changed since the store was written.
    var examined: Int64? = .min

    var isEmpty: Bool { tags.isEmpty && examined == nil }

    mutating func add(_ tag: TagName) { tags.insert(tag) }

    mutating func remove(_ tag: TagName) {
        tags.remove(tag)
        if round?.tag == tag { round = nil }
    }

    /// Stops until one of the tags grows again.
    mutating func postpone() {
        tags = []
        round = nil
        examined = nil
    }
}
