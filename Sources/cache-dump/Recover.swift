import ArgumentParser
import CommandLineSupport
import OfflineStore
import OfflineStoreRecovery

/// `cache-dump recover STORE NEW`.
struct Recover: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copies all undamaged entries of a store to a new store.",
        discussion: """
            STORE is a store's folder, or a database file in it. The database is read page by page, so damage in one place \
            does not hide data elsewhere. The store is not changed; no process may write to it during the recovery. An entry is \
            copied if its head and its whole body match their checksums. If the folder has several databases (damaged databases that \
            were set aside), the live database is read first, then the others, newest first. Entries of the others are copied as invalidated: \
            they are validated before use, as after a purge. If the invalidations are unknown, all entries are copied this way.

            JSON: one object per entry that was partly lost, with the keys entry, id, url (null if the key cannot \
            be read), detail; then one with the keys folder, sources (name and entries of each database), responses, \
            objects, bytes, lostEntries, lostBodies (bodies whose entries cannot be read), lostTags, unreadablePages \
            (that may have held entries), credentialSecret (whether responses to requests with credentials can still be \
            found), invalidations (whether they are known), complete.

            The exit status is 0 if everything was copied, 1 if something was lost.

            EXAMPLES
              cache-dump recover feed.store recovered.store
              cache-dump recover feed.store/0001.sqlite recovered.store --format json
            """
    )

    @Argument(help: "Store folder or database file.")
    var store: String

    @Argument(help: "Folder of the new store: missing or empty.")
    var new: String

    @Option(help: "Output format; json prints one JSON object per line.")
    var format = StoreOptions.Format.text

    func validate() throws { try LocalFolder.check(new) }

    func run() async throws {
        let recovery = try await CacheManager.recover(from: store, to: new)
        let report = RecoveryReport(recovery: recovery)
        var output = Output()
        switch format {
        case .text: for line in report.lines { try output.line(line) }
        case .json:
            for loss in recovery.losses { try output.json(LossReport(loss: loss)) }
            try output.json(report)
        }
        try output.flush()
        if !recovery.isComplete { throw ExitCode.failure }
    }
}

/// A lost entry, as `recover --format json` prints it.
private struct LossReport: Encodable {
    let loss: StoreRecovery.Loss

    private enum CodingKeys: String, CodingKey {
        case entry, id, url, detail
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(loss.entryID, forKey: .entry)
        try container.encode(loss.shortID, forKey: .id)
        try container.encode(loss.redactedURI, forKey: .url)
        try container.encode(loss.detail, forKey: .detail)
    }
}

/// A recovery, as `recover` prints it.
private struct RecoveryReport: Encodable {
    let recovery: StoreRecovery

    private enum CodingKeys: String, CodingKey {
        case folder, sources, responses, objects, bytes, lostEntries, lostBodies, lostTags, unreadablePages
        case credentialSecret, invalidations, complete
    }

    private struct Source: Encodable {
        let name: String
        let entries: Int
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(recovery.folder, forKey: .folder)
        try container.encode(recovery.sources.map { Source(name: $0.name, entries: $0.entries) }, forKey: .sources)
        try container.encode(recovery.responses, forKey: .responses)
        try container.encode(recovery.objects, forKey: .objects)
        try container.encode(recovery.bytes, forKey: .bytes)
        try container.encode(recovery.lossCount, forKey: .lostEntries)
        try container.encode(recovery.lostBodies, forKey: .lostBodies)
        try container.encode(recovery.lostTags, forKey: .lostTags)
        try container.encode(recovery.unreadablePages, forKey: .unreadablePages)
        try container.encode(recovery.hasCredentialSecret, forKey: .credentialSecret)
        try container.encode(recovery.hasInvalidations, forKey: .invalidations)
        try container.encode(recovery.isComplete, forKey: .complete)
    }

    var lines: [String] {
        var lines = recovery.losses.map { loss in
            let place = [String(loss.shortID.prefix(12)), loss.redactedURI].compactMap(\.self).joined(separator: "  ")
            return Formatting.printable("lost       \(loss.detail)  (\(place))")
        }
        let hidden = recovery.lossCount - recovery.losses.count
        if hidden > 0 { lines.append("and \(hidden) more") }
        if recovery.lostBodies > 0 {
            lines.append("lost       \(recovery.lostBodies) entries of which only the body can be read")
        }
        if recovery.lostTags > 0 { lines.append("lost       \(recovery.lostTags) tags of entries") }
        if recovery.unreadablePages > 0 {
            lines.append("unreadable \(recovery.unreadablePages) pages that may have held entries")
        }
        if !recovery.hasCredentialSecret {
            lines.append(
                "lost       the secret for credentials: responses to requests with credentials can no longer be found"
            )
        }
        if !recovery.hasInvalidations {
            lines.append(
                "uncertain  invalidations: all entries are copied as invalidated, as after a purge"
            )
        }
        for source in recovery.sources { lines.append("read       \(source.name), \(source.entries) entries") }
        let copied =
            "\(recovery.responses) responses and \(recovery.objects) objects, \(Formatting.size(recovery.bytes))"
        return lines + [
            "\(Formatting.printable(recovery.folder)): \(copied)\(recovery.isComplete ? "" : "; something was lost")"
        ]
    }
}
