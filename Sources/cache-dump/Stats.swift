import ArgumentParser
import HTTPCache
import OfflineStore

/// `cache-dump stats STORE`.
struct Stats: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a store's statistics.",
        discussion: """
            JSON: one object, with the keys folder, database, schemaVersion, sqliteVersion, responses, objects, \
            expired (all that are not fresh, with any state of 'list'), usableStale, invalidated, damaged, pinned (numbers of entries), storedBytes (bodies, heads and keys), \
            databaseBytes, logBytes, freeBytes (sizes of files and of unused space in them), unreferencedBodies, \
            invalidationSequence, setAside (damaged databases that were left in the folder: name and bytes).

            EXAMPLE
              cache-dump stats feed.store --format json | jq .storedBytes
            """
    )

    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.withStore { store in
            let report = StatisticsReport(folder: store.folder, statistics: try await store.statistics())
            var output = Output()
            switch options.format {
            case .text: for line in report.lines { try output.line(line) }
            case .json: try output.json(report)
            }
            try output.flush()
        }
    }
}

/// A store's statistics, as `stats` prints them.
struct StatisticsReport: Encodable {
    let folder: String
    let statistics: StoreStatistics

    private enum CodingKeys: String, CodingKey {
        case folder, database, schemaVersion, sqliteVersion, responses, objects, expired, usableStale, invalidated
        case damaged, pinned, storedBytes, databaseBytes, logBytes, freeBytes, unreferencedBodies, invalidationSequence,
            setAside
    }

    private struct SetAside: Encodable {
        let name: String
        let bytes: Int64
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(folder, forKey: .folder)
        try container.encode(statistics.databaseName, forKey: .database)
        try container.encode(statistics.schemaVersion, forKey: .schemaVersion)
        try container.encode(statistics.sqliteVersion, forKey: .sqliteVersion)
        try container.encode(statistics.responses, forKey: .responses)
        try container.encode(statistics.objects, forKey: .objects)
        try container.encode(statistics.expired, forKey: .expired)
        try container.encode(statistics.usableStale, forKey: .usableStale)
        try container.encode(statistics.invalidated, forKey: .invalidated)
        try container.encode(statistics.damagedEntries, forKey: .damaged)
        try container.encode(statistics.pinned, forKey: .pinned)
        try container.encode(statistics.storedBytes, forKey: .storedBytes)
        try container.encode(statistics.databaseBytes, forKey: .databaseBytes)
        try container.encode(statistics.logBytes, forKey: .logBytes)
        try container.encode(statistics.freeBytes, forKey: .freeBytes)
        try container.encode(statistics.unreferencedBodies, forKey: .unreferencedBodies)
        try container.encode(statistics.invalidationSequence, forKey: .invalidationSequence)
        try container.encode(
            statistics.setAside.map { SetAside(name: $0.name, bytes: $0.bytes) },
            forKey: .setAside
        )
    }

    var lines: [String] {
        let facts: [(String, String)] = [
            ("responses", "\(statistics.responses)"),
            ("objects", "\(statistics.objects)"),
            ("not fresh", "\(statistics.expired), \(statistics.usableStale) of them usable offline"),
            ("invalidated", "\(statistics.invalidated)"),
            ("damaged", "\(statistics.damagedEntries)"),
            ("pinned", "\(statistics.pinned)"),
            ("stored", Formatting.size(statistics.storedBytes) + " in bodies, heads and keys"),
            ("database", "\(statistics.databaseName), \(Formatting.size(statistics.databaseBytes))"),
            (
                "",
                "\(Formatting.size(statistics.freeBytes)) of it unused, \(Formatting.size(statistics.logBytes)) in its write-ahead log"
            ),
            ("schema", "version \(statistics.schemaVersion), SQLite \(statistics.sqliteVersion)"),
            ("unreferenced", "\(statistics.unreferencedBodies) bodies, unfinished or not swept yet"),
            ("invalidations", "\(statistics.invalidationSequence)"),
        ]
        let setAside = statistics.setAside.map { ("set aside", "\($0.name), damaged, \(Formatting.size($0.bytes))") }
        return [Formatting.printable(folder)]
            + (facts + setAside).map { "  " + Formatting.padded($0.0, to: 15) + Formatting.printable($0.1) }
    }
}
