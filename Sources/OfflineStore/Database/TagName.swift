import HTTPCache
import HTTPCacheSemantics
import StoreFiles

/// A tag's name, as stored in the table.
struct TagName: Sendable, Hashable {
    var bytes: [UInt8]
    var hash: Int64

    init(_ name: String, _ state: DatabaseState) {
        bytes = Array(name.utf8)
        hash = state.hash(bytes, .tag)
    }

    /// Creates a name that was read from the table.
    init(bytes: [UInt8], hash: Int64) {
        self.bytes = bytes
        self.hash = hash
    }

    /// Returns the number of its row; `nil` if there is none.
    func number(_ connection: Connection) throws -> Int64? {
        let statement = try connection.prepare("SELECT id, name FROM tag WHERE name_hash = ?1")
        defer { statement.reset() }
        statement.bind(1, hash)
        while try statement.step() {
            if statement.hasBytes(1, bytes) { return statement.integer(0) }
        }
        return nil
    }
}

extension StoreCore {
    /// Returns the number of a tag's row; `nil` if there is none.
    func tagNumber(_ name: String) throws -> Int64? {
        try read { connection, database in
            guard database.state.has(DatabaseState.tagSchemaVersion) else { return nil }
            return try TagName(name, database.state).number(connection)
        }
    }
}

extension ResponseDraft {
    /// The approximate bytes of the tags on disk. Their names count, although other entries may
    /// share them.
    var tagBytes: Int64 {
        Int64(tags.reduce(0) { $0 + $1.utf8.count }) * 5 / 4 + Int64(tags.count) * 2 * StoreLimits.tagOverhead
    }

    /// The approximate maximum of bytes that writing the tags adds to the log: each tag touches
    /// three indexes, each in a different place.
    var tagLogBytes: Int64 {
        tagBytes + Int64(tags.count) * StoreLimits.tagLogOverhead
    }

    /// Returns the tags without duplicates, and the internal tag of the origin if it has a quota.
    func tagNames(_ state: DatabaseState) -> [TagName] {
        var names = tags.isEmpty ? [] : Array(Set(tags.map { TagName($0, state) }))
        if let origin = state.limits.quotas.originTag(of: key.components.target) {
            names.append(TagName(bytes: origin, hash: state.hash(origin, .tag)))
        }
        return names
    }
}
