import ArgumentParser
import CommandLineSupport
import HTTPCache
import OfflineStore

/// `cache-dump verify STORE`.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a store for damage.",
        discussion: """
            Reads a store without changing it, even while another process writes to it. The quick check covers the files, the \
            store's metadata, and some entries; '--full' reads every entry, body and index.

            A damaged entry is harmless: it is treated as a miss, and the next response replaces it. 'cache-dump recover' \
            copies the undamaged entries to a new store.

            JSON: one object per finding, with the keys finding (current, database, structure, unreadable, sequence, \
            known, row, key, head, body, duplicate, size, index, orphan or tag), entry, id, url (null where there is \
            none), detail; then one object with the keys folder, database, schemaVersion, full, \
            structureExamined, entries, examinedEntries, examinedBytes, findings (their number), whole, setAside.

            The exit status is 0 if no damage was found, 1 if damage was found.

            EXAMPLES
              cache-dump verify feed.store
              cache-dump verify feed.store --full --format json | jq -r .detail
            """
    )

    @OptionGroup var options: StoreOptions

    @Flag(help: "Check everything.")
    var full = false

    func run() async throws {
        let verification = try await CacheManager.verify(at: options.store, isFull: full)
        let report = VerificationReport(verification: verification)
        var output = Output()
        switch options.format {
        case .text: for line in report.lines { try output.line(line) }
        case .json:
            for finding in verification.findings { try output.json(FindingReport(finding: finding)) }
            try output.json(report)
        }
        try output.flush()
        if !verification.isWhole { throw ExitCode.failure }
    }
}

/// A finding, as `verify --format json` prints it.
private struct FindingReport: Encodable {
    let finding: StoreVerification.Finding

    private enum CodingKeys: String, CodingKey {
        case finding, entry, id, url, detail
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(finding.kind.description, forKey: .finding)
        try container.encode(finding.entryID, forKey: .entry)
        try container.encode(finding.shortID, forKey: .id)
        try container.encode(finding.redactedURI, forKey: .url)
        try container.encode(finding.detail, forKey: .detail)
    }
}

/// A verification, as `verify` prints it.
private struct VerificationReport: Encodable {
    let verification: StoreVerification

    private enum CodingKeys: String, CodingKey {
        case folder, database, schemaVersion, full, structureExamined, entries, examinedEntries, examinedBytes
        case findings, whole, setAside
    }

    private struct SetAside: Encodable {
        let name: String
        let bytes: Int64
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(verification.folder, forKey: .folder)
        try container.encode(verification.databaseName, forKey: .database)
        try container.encode(verification.schemaVersion, forKey: .schemaVersion)
        try container.encode(verification.isFull, forKey: .full)
        try container.encode(verification.isStructureExamined, forKey: .structureExamined)
        try container.encode(verification.entries, forKey: .entries)
        try container.encode(verification.examinedEntries, forKey: .examinedEntries)
        try container.encode(verification.examinedBytes, forKey: .examinedBytes)
        try container.encode(verification.findingCount, forKey: .findings)
        try container.encode(verification.isWhole, forKey: .whole)
        try container.encode(
            verification.setAside.map { SetAside(name: $0.name, bytes: $0.bytes) },
            forKey: .setAside
        )
    }

    var lines: [String] {
        var lines = verification.findings.map { finding in
            let place = [finding.shortID.map { String($0.prefix(12)) }, finding.redactedURI].compactMap(\.self)
            let suffix = place.isEmpty ? "" : "  (\(place.joined(separator: "  ")))"
            return Formatting.printable(Formatting.padded("\(finding.kind)", to: 11) + finding.detail + suffix)
        }
        let hidden = verification.findingCount - verification.findings.count
        if hidden > 0 { lines.append("and \(hidden) more") }
        for database in verification.setAside {
            lines.append("set aside  \(database.name), damaged earlier, \(Formatting.size(database.bytes))")
        }
        let examined = "\(verification.examinedEntries) of \(verification.entries) entries examined"
        let bodies = "\(Formatting.size(verification.examinedBytes)) of bodies"
        var structure = ""
        if verification.isFull, !verification.isStructureExamined {
            structure = "; pages not checked"
            if verification.isStructureDeferred { structure += ", because a process has the store open" }
        }
        let verdict =
            verification.isWhole
            ? "whole" : "damaged, \(verification.findingCount) finding\(verification.findingCount == 1 ? "" : "s")"
        return lines + ["\(Formatting.printable(verification.folder)): \(verdict) (\(examined), \(bodies)\(structure))"]
    }
}
