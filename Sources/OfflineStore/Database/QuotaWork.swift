/// Which tags come to more than their quotas, and how far removing has come: the writer's, between
/// the steps of its housekeeping.
struct QuotaWork {
    /// One tag's turn: first all its carriers are looked at, then the least recently used of them
    /// go.
    struct Round {
        let tag: TagName
        let tagID: Int64
        /// The last carrier that was looked at.
        var cursor = Int64.min
        var candidates: EvictionCandidates
        /// Who goes, the first one last; `nil` until all have been looked at.
        var victims: [EvictionCandidates.Candidate]?
        var evicted = 0
    }

    private(set) var tags: Set<TagName> = []
    var round: Round?
    /// Tags up to this number were looked at since opening, `nil` for all: quotas may be other ones
    /// than when the store was written.
    var examined: Int64? = .min

    var isEmpty: Bool { tags.isEmpty && examined == nil }

    mutating func add(_ tag: TagName) { tags.insert(tag) }

    mutating func remove(_ tag: TagName) {
        tags.remove(tag)
        if round?.tag == tag { round = nil }
    }

    /// Leaves it until one of the tags grows again.
    mutating func setBack() {
        tags = []
        round = nil
        examined = nil
    }
}
