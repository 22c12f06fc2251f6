import CSQLite
import HTTPCacheSemantics
import Synchronization

/// The effect of tag and prefix invalidations on an entry while their sweep is unfinished.
///
/// It is read with the entry, in the same snapshot. So it is correct immediately, in every process,
/// after a crash, and for any number of entries.
enum PendingInvalidation: Sendable, Equatable {
    case none
    case marked(InvalidationCause)
    case removed

    /// Creates the effect from the column ``state`` or a similar one.
    init(_ value: Int64) {
        self = value == 0 ? .none : value >= 4 ? .removed : .marked(value >= 2 ? .unsafeMethod : .unspecified)
    }

    /// The cause, if the entry is marked.
    var cause: InvalidationCause? { if case .marked(let cause) = self { cause } else { nil } }

    /// The SQL column for an entry: 0 for no effect, 1 for marked, 2 or 3 for marked by an unsafe
    /// method, 4 or more for removed.
    static let state = "max(\(byTag), \(byPrefix))"
    /// The same column for a schema without causes.
    static let stateWithoutCauses = "max(\(byTagWithoutCauses), \(byPrefix))"

    /// Returns the column for a database's schema.
    static func state(_ state: DatabaseState) -> String {
        if state.has(DatabaseState.causeSchemaVersion) { return self.state }
        if state.has(DatabaseState.sweepSchemaVersion) { return stateWithoutCauses }
        return state.has(DatabaseState.tagSchemaVersion) ? byTagWithoutCauses : "0"
    }

    /// Returns an SQL expression that tells whether anything is unfinished, for a database's
    /// schema.
    static func hasSome(_ state: DatabaseState) -> String {
        let tags = "EXISTS (SELECT 1 FROM tag_invalidation)"
        if state.has(DatabaseState.sweepSchemaVersion) {
            return tags + " OR EXISTS (SELECT 1 FROM prefix_invalidation)"
        }
        return state.has(DatabaseState.tagSchemaVersion) ? tags : "0"
    }

    /// The first condition does not depend on the entry and is evaluated once per statement. The
    /// join order is fixed: an entry has at most 64 tags, but there may be any number of unfinished
    /// invalidations.
    static let byTag = byTag(
        unsafe: " + (coalesce(u.number, 0) > entry.sequence) * 2",
        join: " LEFT JOIN unsafe_tag_invalidation u ON u.tag_id = t.tag_id"
    )
    static let byTagWithoutCauses = byTag(unsafe: "", join: "")

    private static func byTag(unsafe: String, join: String) -> String {
        """
        CASE WHEN NOT EXISTS (SELECT 1 FROM tag_invalidation) THEN 0 ELSE coalesce((
            SELECT max((i.removed > entry.sequence) * 4\(unsafe) + (i.marked > entry.sequence))
            FROM entry_tag t CROSS JOIN tag_invalidation i ON i.tag_id = t.tag_id\(join) WHERE t.entry_id = entry.id
        ), 0) END
        """
    }

    /// At most ``limit`` comparisons, and usually none. An object's key is compared with an
    /// ``ObjectPrefix`` alone, and a response's key with everything else, whatever its bytes.
    static let byPrefix = """
        CASE WHEN NOT EXISTS (SELECT 1 FROM prefix_invalidation) THEN 0 ELSE coalesce((
            SELECT max(1 + 3 * p.is_removal) FROM prefix_invalidation p
            WHERE p.sequence > entry.sequence AND prefix_covers(p.prefix, entry.key, entry.kind)
        ), 0) END
        """

    /// The most unfinished prefix invalidations at a time, because every read checks all of them.
    static let limit = 64

    /// Adds to a connection the function that compares a prefix with the key of an entry of a kind.
    /// Every connection that reads ``state`` needs it.
    static func addFunction(to connection: Connection) throws {
        let code = sqlite3_create_function_v2(
            connection.pointer,
            "prefix_covers",
            3,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
            nil,
            { context, count, values in
                guard count == 3, let values else { return }
                func bytes(_ index: Int) -> UnsafeRawBufferPointer {
                    let start = sqlite3_value_blob(values[index])
                    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(values[index])))
                }
                let kind = EntryKind(rawValue: sqlite3_value_int64(values[2]))
                sqlite3_result_int(context, kind?.covers(bytes(1), byPrefix: bytes(0)) == true ? 1 : 0)
            },
            nil,
            nil,
            nil
        )
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, connection: connection.pointer) }
    }
}

extension DatabaseState {
    /// Returns the number below which entries of a kind are treated as removed.
    func removalLowWaterMark(_ kind: EntryKind) -> Int64 {
        switch kind {
        case .response: responseRemoved.load(ordering: .acquiring)
        case .object: objectRemoved.load(ordering: .acquiring)
        }
    }
}
