import CSQLite
import HTTPCache
package import OfflineStore

extension StoreModel {
    /// Reads everything in an open store, and compares.
    ///
    /// - Returns: the findings, in words.
    package mutating func audit(_ store: CacheManager, _ tolerance: Tolerance = Tolerance()) async -> [String] {
        var findings: [String] = []
        if let finding = observe(sequence: store.responses.invalidationSequence.number) { findings.append(finding) }
        for place in places {
            do {
                let version = try await store.version(at: place)
                if let finding = observe(version, at: place, tolerance) { findings.append(finding) }
            } catch {
                findings.append("\(place) cannot be read: \(error)")
            }
        }
        do {
            try await store.settle()
            let statistics = try await store.statistics()
            if statistics.unreferencedBodies > 0 {
                findings.append("\(statistics.unreferencedBodies) bodies without an entry are left")
            }
            if statistics.responses + statistics.objects > places.count {
                findings.append("there are more entries than places")
            }
        } catch {
            findings.append("housekeeping: \(error)")
        }
        return findings
    }
}

/// The database of a closed store, as SQLite sees it.
package enum DatabaseAudit {
    /// - Returns: the findings of `PRAGMA integrity_check`, and chunks that belong to no entry.
    package static func findings(_ path: String) -> [String] {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            return ["\(path) cannot be opened"]
        }
        var isPersistent: Int32 = 1
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isPersistent)
        let lines = rows("PRAGMA integrity_check", connection).filter { $0 != "ok" }
        let orphans = rows(
            """
            SELECT 'chunk ' || id || ' belongs to nothing' FROM chunk
            WHERE id >> 16 NOT IN (SELECT body_id FROM entry) AND id >> 16 NOT IN (SELECT body_id FROM garbage)
            """,
            connection
        )
        return lines + orphans
    }

    private static func rows(_ sql: String, _ connection: OpaquePointer?) -> [String] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            return ["\(sql): \(String(cString: sqlite3_errmsg(connection)))"]
        }
        var rows: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return rows
            default: return rows + ["\(sql): \(String(cString: sqlite3_errmsg(connection)))"]
            }
        }
    }
}
