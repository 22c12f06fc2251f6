import ArgumentParser
import CommandLineSupport
import OfflineStore

/// `cache-dump backup STORE BACKUP`.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies a store to a new folder, even while a service writes to it.",
        discussion: """
            The backup is the store at one moment. It contains all responses and purges from before the command began, and \
            is itself a store. To restore it, stop the service and replace the store's folder with the backup.

            The copy is made in a folder whose name ends in '.unfinished', and is renamed when it is complete. If the command \
            is interrupted, run it again: it removes that folder. The service continues to store, serve and purge. If it writes \
            a lot during the last part of the copy, it forwards some responses without storing them.

            The backup contains the secrets of the store, but not its identity in a fleet, its token for the control plane, or a \
            mode or an extension of staleness that an operator set.

            JSON: one object, with the keys folder, database, schemaVersion, responses, objects (numbers of entries), bytes (of \
            bodies), databaseBytes, invalidationSequence, invalidations (whether they are known; if not, all entries are \
            treated as invalidated, as in the store).

            The exit status is 0 if the backup is complete, 1 if not.

            EXAMPLES
              cache-dump backup feed.store /backup/feed.store
              cache-dump backup feed.store "/backup/$(date +%F)" && cache-dump verify "/backup/$(date +%F)" --full
            """
    )

    @OptionGroup var options: StoreOptions

    @Argument(help: "Folder of the backup: missing or empty.")
    var backup: String

    func validate() throws { try LocalFolder.check(backup) }

    func run() async throws {
        let progress = BackupProgress()
        let result: StoreBackup
        do {
            result = try await CacheManager.backUp(options.store, to: backup) { progress.show($0) }
        } catch {
            progress.end()
            throw error
        }
        progress.end()
        let report = BackupReport(backup: result)
        var output = Output()
        switch options.format {
        case .text: for line in report.lines { try output.line(line) }
        case .json: try output.json(report)
        }
        try output.flush()
    }
}

/// A backup, as `backup` prints it.
private struct BackupReport: Encodable {
    let backup: StoreBackup

    private enum CodingKeys: String, CodingKey {
        case folder, database, schemaVersion, responses, objects, bytes, databaseBytes, invalidationSequence
        case invalidations
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(backup.folder, forKey: .folder)
        try container.encode(backup.databaseName, forKey: .database)
        try container.encode(backup.schemaVersion, forKey: .schemaVersion)
        try container.encode(backup.responses, forKey: .responses)
        try container.encode(backup.objects, forKey: .objects)
        try container.encode(backup.bytes, forKey: .bytes)
        try container.encode(backup.databaseBytes, forKey: .databaseBytes)
        try container.encode(backup.invalidationSequence, forKey: .invalidationSequence)
        try container.encode(backup.hasInvalidations, forKey: .invalidations)
    }

    var lines: [String] {
        let copied = "\(backup.responses) responses and \(backup.objects) objects, \(Formatting.size(backup.bytes))"
        let uncertain =
            backup.hasInvalidations
            ? [] : ["uncertain  invalidations: all entries are treated as invalidated, as in the store"]
        return uncertain + ["\(Formatting.printable(backup.folder)): \(copied)"]
    }
}
