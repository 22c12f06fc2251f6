import HTTPCache
import HTTPCacheSemantics

/// A tag's name as the table has it.
struct TagName: Sendable, Hashable {
    var bytes: [UInt8]
    var hash: Int64

    init(_ name: String, _ state: DatabaseState) {
        bytes = Array(name.utf8)
        hash = state.hash(bytes, .tag)
    }

    /// A name as it was read.
    init(bytes: [UInt8], hash: Int64) {
        self.bytes = bytes
        self.hash = hash
    }
}

extension ResponseDraft {
    /// About what the tags take on disk; their names once, though others may share them.
    var tagBytes: Int64 {
        Int64(tags.reduce(0) { $0 + $1.utf8.count }) * 5 / 4 + Int64(tags.count) * 2 * StoreLimits.tagOverhead
    }

    /// What writing the tags brings to the log at most, about: each is at a place of its own in
    /// three indexes.
    var tagLogBytes: Int64 {
        tagBytes + Int64(tags.count) * StoreLimits.tagLogOverhead
    }

    /// The tags, each once, and the store's own one by which its origin is counted.
    func tagNames(_ state: DatabaseState) -> [TagName] {
        var names = tags.isEmpty ? [] : Array(Set(tags.map { TagName($0, state) }))
        if let origin = state.limits.quotas.originTag(of: key.components.target) {
            names.append(TagName(bytes: origin, hash: state.hash(origin, .tag)))
        }
        return names
    }
}
