import HTTPCache
import HTTPCacheSemantics

/// A tag's name as the table has it.
struct TagName: Sendable, Hashable {
    var octets: [UInt8]
    var hash: Int64

    init(_ name: String, _ state: DatabaseState) {
        octets = Array(name.utf8)
        hash = state.hash(octets, .tag)
    }

    /// A name as it was read.
    init(octets: [UInt8], hash: Int64) {
        self.octets = octets
        self.hash = hash
    }
}

extension ResponseDraft {
    /// About what the tags take on disk; their names once, though others may share them.
    var tagOctets: Int64 {
        Int64(tags.reduce(0) { $0 + $1.utf8.count }) * 5 / 4 + Int64(tags.count) * 2 * StoreLimits.tagOverhead
    }

    /// What writing the tags brings to the log at most, about: each is at a place of its own in three indexes.
    var tagLogOctets: Int64 {
        tagOctets + Int64(tags.count) * StoreLimits.tagLogOverhead
    }

    /// The tags, each once, and the store's own one by which its origin is counted.
    func tagNames(_ state: DatabaseState) -> [TagName] {
        var names = tags.isEmpty ? [] : Array(Set(tags.map { TagName($0, state) }))
        if let origin = state.limits.quotas.originTag(of: key.components.target) {
            names.append(TagName(octets: origin, hash: state.hash(origin, .tag)))
        }
        return names
    }
}

/// What an invalidation of a tag, whose sweep is not finished, says of an entry.
///
/// It is read with the entry, in the same snapshot: right at once, in every process, after a crash, and however many entries the tag has.
enum TagInvalidation: Sendable {
    case none
    case marked
    case removed

    /// From the column ``state``.
    init(_ value: Int64) {
        self = value == 0 ? .none : value >= 2 ? .removed : .marked
    }

    /// A column for an entry: 0, or 1 when it is marked, or 2 or more when it is removed.
    ///
    /// The first question is not about the entry and is asked once per statement. The order of the join is fixed: an entry has at
    /// most 64 tags, and there may be any number of unfinished invalidations.
    static let state = """
        CASE WHEN NOT EXISTS (SELECT 1 FROM tag_invalidation) THEN 0 ELSE coalesce((
            SELECT max((i.removed > entry.sequence) * 2 + (i.marked > entry.sequence))
            FROM entry_tag t CROSS JOIN tag_invalidation i ON i.tag_id = t.tag_id WHERE t.entry_id = entry.id
        ), 0) END
        """
}
