import GRDB
import GRDBSQLite
import HTTPCacheSemantics
import Synchronization

/// What invalidations of tags and prefixes, whose sweep is not finished, say of an entry.
///
/// It is read with the entry, in the same snapshot: right at once, in every process, after a crash,
/// and however many entries they are about.
enum PendingInvalidation: Sendable, Equatable {
    case none
    case marked(InvalidationCause)
    case removed

    /// From the column ``state`` or one like it.
    init(_ value: Int64) {
        self = value == 0 ? .none : value >= 4 ? .removed : .marked(value >= 2 ? .unsafeMethod : .unspecified)
    }

    /// The cause, where it is marked.
    var cause: InvalidationCause? { if case .marked(let cause) = self { cause } else { nil } }

    /// A column for an entry: 0; or 1 when it is marked, and 2 or 3 when an unsafe method did that;
    /// or 4 or more when it is removed.
    static let state = "max(\(byTag), \(byPrefix))"
    /// The same for a schema that knows no causes.
    static let stateWithoutCauses = "max(\(byTagWithoutCauses), \(byPrefix))"

    /// The column for the schema that a database has.
    static func state(_ state: DatabaseState) -> String {
        if state.has(DatabaseState.causeSchemaVersion) { return self.state }
        if state.has(DatabaseState.sweepSchemaVersion) { return stateWithoutCauses }
        return state.has(DatabaseState.tagSchemaVersion) ? byTagWithoutCauses : "0"
    }

    /// An expression that tells whether anything is unfinished, for the schema that a database has.
    static func hasSome(_ state: DatabaseState) -> String {
        let tags = "EXISTS (SELECT 1 FROM tag_invalidation)"
        if state.has(DatabaseState.sweepSchemaVersion) {
            return tags + " OR EXISTS (SELECT 1 FROM prefix_invalidation)"
        }
        return state.has(DatabaseState.tagSchemaVersion) ? tags : "0"
    }

    /// The first question is not about the entry and is asked once per statement. The order of the
    /// join is fixed: an entry has at most 64 tags, and there may be any number of unfinished
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

    /// At most ``limit`` comparisons, and mostly none: an object's key is no response's, whatever
    /// its bytes.
    static let byPrefix = """
        CASE WHEN NOT EXISTS (SELECT 1 FROM prefix_invalidation) THEN 0 ELSE coalesce((
            SELECT max(1 + 3 * p.is_removal) FROM prefix_invalidation p
            WHERE p.sequence > entry.sequence AND entry.kind = 0 AND prefix_covers(p.prefix, entry.key)
        ), 0) END
        """

    /// Unfinished invalidations of prefixes at a time: every reading compares with all of them.
    static let limit = 64

    /// Gives a connection the function that compares a prefix with a key. Every connection that
    /// asks for ``state`` needs it.
    static func addFunction(to database: Database) throws {
        guard let pointer = database.sqliteConnection else { return }
        let code = sqlite3_create_function_v2(
            pointer,
            "prefix_covers",
            2,
            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
            nil,
            { context, count, values in
                guard count == 2, let values else { return }
                func bytes(_ index: Int) -> UnsafeRawBufferPointer {
                    let start = sqlite3_value_blob(values[index])
                    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(values[index])))
                }
                sqlite3_result_int(context, TargetPrefix.covers(prefix: bytes(0), key: bytes(1)) ? 1 : 0)
            },
            nil,
            nil,
            nil
        )
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, connection: pointer) }
    }
}

extension DatabaseState {
    /// Entries of a kind with a smaller sequence number count as not there.
    func removalFloor(_ kind: EntryKind) -> Int64 {
        switch kind {
        case .response: responseRemoved.load(ordering: .acquiring)
        case .object: objectRemoved.load(ordering: .acquiring)
        }
    }
}
