import HTTPCache
import HTTPCacheSemantics

/// Reads the journal of invalidations, on any connection.
extension Connection {
    func hasJoined() throws -> Bool { try integer("SELECT count(*) FROM shared_log") == 1 }

    func waitingCount() throws -> Int {
        Int(try integer("SELECT count(*) FROM shared_invalidation WHERE epoch IS NULL") ?? 0)
    }

    func isJournaled(_ id: PurgeID) throws -> Bool {
        let statement = try prepare("SELECT 1 FROM shared_invalidation WHERE name = ?1")
        defer { statement.reset() }
        statement.bind(1, id.bytes)
        return try statement.step()
    }

    func waiting(limit: Int) throws -> [FleetInvalidation] {
        try journaled("WHERE epoch IS NULL ORDER BY id LIMIT ?3", after: .zero, limit: limit)
    }

    func journaled(after position: LogPosition, limit: Int) throws -> [FleetInvalidation] {
        try journaled("WHERE (epoch, number) > (?1, ?2) ORDER BY epoch, number LIMIT ?3", after: position, limit: limit)
    }

    private func journaled(_ condition: String, after position: LogPosition, limit: Int) throws -> [FleetInvalidation] {
        let statement = try prepare(
            "SELECT name, kind, selector, effect, issued_at FROM shared_invalidation \(condition)"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(bitPattern: position.epoch))
        statement.bind(2, Int64(bitPattern: position.number))
        statement.bind(3, Int64(limit))
        var found: [FleetInvalidation] = []
        while try statement.step() {
            found.append(try journaledInvalidation(statement))
        }
        return found
    }

    /// Returns the invalidation in a row that begins with the name, kind, selector, effect and
    /// time.
    func journaledInvalidation(_ statement: SQLStatement) throws -> FleetInvalidation {
        guard let id = PurgeID(statement.bytes(0)) else { throw Self.damagedJournal }
        let kind = ScopeSelector.Kind(rawValue: UInt8(truncatingIfNeeded: statement.integer(1)))
        let scope = kind.flatMap { ScopeSelector(kind: $0, bytes: statement.bytes(2)).scope }
        let effect = InvalidationEffect(number: UInt8(truncatingIfNeeded: statement.integer(3)))
        guard let scope, let effect else { throw Self.damagedJournal }
        let issuedAt = Timestamp(milliseconds: statement.integer(4))
        return FleetInvalidation(id: id, scope: scope, effect: effect, issuedAt: issuedAt)
    }

    private static let damagedJournal = SQLiteFailure(
        code: 11,
        message: "a row of 'shared_invalidation' cannot be read"
    )
}
