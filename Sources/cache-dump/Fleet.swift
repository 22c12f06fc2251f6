import ArgumentParser
import CommandLineSupport
import HTTPCache
import HTTPCacheSemantics
import OfflineStore

/// `cache-dump fleet STORE`.
struct Fleet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows how far a store has read the purge log that it shares with other nodes.",
        discussion: """
            Reads only the store; the server need not be running. Shows how far the store has read the log, the epochs that it has read, when the log last confirmed purges of the journal, \
            the invalidation before which responses are validated ('lowWaterMark'), and the purges that are not in the log yet ('unsent') or not confirmed yet ('unsettled'). At most \
            \(FleetJournal.limit) of each are listed. Values of secret parameters are redacted.

            JSON: an object for each purge, with the keys entry ('unsent' or 'unsettled'), purge, position, issuedAt, action, scope, selector; then one with the keys entry ('fleet'), folder, name, \
            node, position, epochs (epoch, beganAt, last), settledAt, sequence, lowWaterMark, unsent, unsettled, settled. All keys are always present; null means that there is no value.

            The exit status is 1 if the store never joined a fleet log.

            EXAMPLES
              cache-dump fleet feed.store
              cache-dump fleet feed.store --format json | jq -r 'select(.entry == "unsent") | .selector'
            """
    )

    @OptionGroup var options: StoreOptions

    func run() async throws {
        try await options.withStore { store in
            guard let journal = try await store.fleetJournal() else {
                throw CommandFailure(
                    "'\(store.folder)' never joined a fleet log: no gateway with 'fleet.url' has opened this store."
                )
            }
            var output = Output()
            let report = FleetReport(folder: store.folder, journal: journal)
            switch options.format {
            case .text: for line in report.lines { try output.line(line) }
            case .json:
                for purge in report.purges { try output.json(purge) }
                try output.json(report)
            }
            try output.flush()
        }
    }
}

/// A purge in the journal, as `fleet` prints it.
private struct JournaledPurge: Encodable {
    let entry: String
    let journaled: FleetJournal.Entry

    private enum CodingKeys: String, CodingKey {
        case entry, purge, position, issuedAt, action, scope, selector
    }

    func encode(to encoder: any Encoder) throws {
        let invalidation = journaled.invalidation
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(entry, forKey: .entry)
        try container.encode("\(invalidation.id)", forKey: .purge)
        try container.encode(journaled.position.map { "\($0)" }, forKey: .position)
        try container.encode(Formatting.date(invalidation.issuedAt), forKey: .issuedAt)
        try container.encode(invalidation.effect.name, forKey: .action)
        try container.encode(invalidation.scope.kindName, forKey: .scope)
        try container.encode(invalidation.scope.redactedSelector, forKey: .selector)
    }

    var line: String {
        let invalidation = journaled.invalidation
        let what = invalidation.scope.redactedSelector.map { "\(invalidation.scope.kindName) \($0)" } ?? "everything"
        let place = journaled.position.map { " at \($0)" } ?? ""
        return Formatting.padded(entry, to: 10)
            + "\(Formatting.date(invalidation.issuedAt))  \(invalidation.effect.name)  \(what)\(place)"
    }
}

/// A store's fleet state, as `fleet` prints it.
private struct FleetReport: Encodable {
    let folder: String
    let journal: FleetJournal

    private enum CodingKeys: String, CodingKey {
        case entry, folder, name, node, position, epochs, settledAt, sequence, lowWaterMark, unsent, unsettled, settled
    }

    private struct Epoch: Encodable {
        /// A string, because many programs parse JSON numbers as floating point.
        let epoch: String
        let beganAt: String
        let last: UInt64
    }

    var purges: [JournaledPurge] {
        journal.unpublished.map { JournaledPurge(entry: "unsent", journaled: $0) }
            + journal.unsettled.map { JournaledPurge(entry: "unsettled", journaled: $0) }
    }

    private var epochs: [Epoch] {
        journal.cursor.epochs.sorted { $0.key > $1.key }.map { epoch, last in
            Epoch(epoch: "\(epoch)", beganAt: Formatting.date(Self.beginning(epoch)), last: last)
        }
    }

    /// Returns the time when an epoch began, which is in the first 44 bits of its number.
    private static func beginning(_ epoch: UInt64) -> Timestamp {
        Timestamp(milliseconds: Int64(clamping: epoch >> 20))
    }

    private var position: String? { journal.cursor.position == .zero ? nil : "\(journal.cursor.position)" }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("fleet", forKey: .entry)
        try container.encode(folder, forKey: .folder)
        try container.encode(journal.name, forKey: .name)
        try container.encode("\(journal.node)", forKey: .node)
        try container.encode(position, forKey: .position)
        try container.encode(epochs, forKey: .epochs)
        try container.encode(journal.settledAt.map(Formatting.date), forKey: .settledAt)
        try container.encode(journal.sequence, forKey: .sequence)
        try container.encode(journal.lowWaterMark, forKey: .lowWaterMark)
        try container.encode(journal.unpublishedCount, forKey: .unsent)
        try container.encode(journal.unsettledCount, forKey: .unsettled)
        try container.encode(journal.settledCount, forKey: .settled)
    }

    var lines: [String] {
        var facts: [(String, String)] = [
            ("log", "'\(journal.name)'; this store is \(journal.node)"),
            ("read up to", position ?? "nothing yet"),
        ]
        for epoch in epochs {
            facts.append(("epoch", "\(epoch.epoch) began at \(epoch.beganAt), read up to \(epoch.last)"))
        }
        facts += [
            ("confirmed", journal.settledAt.map { "last at \(Formatting.date($0))" } ?? "nothing in the journal yet"),
            (
                "low-water",
                "responses older than invalidation \(journal.lowWaterMark) are validated; the last invalidation is \(journal.sequence)"
            ),
            (
                "journal",
                "\(journal.unpublishedCount) unsent, \(journal.unsettledCount) unsettled, \(journal.settledCount) settled"
            ),
        ]
        let listed = purges
        let more = journal.unpublishedCount + journal.unsettledCount - listed.count
        return [Formatting.printable(folder)]
            + facts.map { "  " + Formatting.padded($0.0, to: 12) + Formatting.printable($0.1) }
            + listed.map { "  " + Formatting.printable($0.line) }
            + (more > 0 ? ["  and \(more) more"] : [])
    }
}
