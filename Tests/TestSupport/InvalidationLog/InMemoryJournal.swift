import HTTPCache
import HTTPCacheSemantics

/// An in-memory journal.
struct InMemoryJournal {
    private struct Row {
        var invalidation: FleetInvalidation
        var position: LogPosition?
        var settledAt: Timestamp?
    }

    let name: String
    var node = PurgeID.random()
    var notes: [UInt8] = []
    var cursor = LogCursor()
    /// The rows in order of arrival.
    private var rows: [Row] = []
    private var places: [PurgeID: Int] = [:]

    init(name: String) { self.name = name }

    var waiting: [FleetInvalidation] { rows.filter { $0.position == nil }.map(\.invalidation) }

    func positioned(after position: LogPosition) -> [FleetInvalidation] {
        rows.compactMap { row in row.position.map { (row.invalidation, $0) } }
            .filter { $0.1 > position }
            .sorted { $0.1 < $1.1 }
            .map(\.0)
    }

    mutating func add(_ invalidation: FleetInvalidation, at position: LogPosition? = nil) {
        places[invalidation.id] = rows.count
        rows.append(Row(invalidation: invalidation, position: position))
    }

    /// - Returns: whether the purge is in the journal.
    mutating func note(_ position: LogPosition, of id: PurgeID) -> Bool {
        guard let place = places[id] else { return false }
        if rows[place].position.map({ $0 < position }) ?? true {
            rows[place].position = position
            rows[place].settledAt = nil
        }
        return true
    }

    mutating func republish(after: LogPosition, before: LogPosition?) {
        for index in rows.indices {
            guard let position = rows[index].position, position > after,
                before.map({ position < $0 }) ?? true
            else { continue }
            rows[index].position = nil
            rows[index].settledAt = nil
        }
    }

    mutating func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) {
        for index in rows.indices {
            guard let own = rows[index].position, own <= position, rows[index].settledAt == nil else { continue }
            rows[index].settledAt = now
        }
        rows.removeAll { row in row.settledAt.map { $0 <= earlier } ?? false }
        places = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.invalidation.id, $0) })
    }
}
