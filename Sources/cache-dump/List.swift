import ArgumentParser
import CommandLineSupport
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore

/// `cache-dump list STORE`.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the entries of a store in the order in which they were stored.",
        discussion: """
            STATE is 'fresh', 'stale' (validated before use; usable if the origin is unreachable), 'expired' (past \
            its lifetime), 'invalidated' (validated before use; usable if the origin is unreachable, unless a directive or \
            an unsafe request forbids it) or 'damaged'. AGE counts from when the origin generated or validated a response, or from \
            when an object was stored. STATE uses the rules that were in force when the response was stored, because this \
            command reads no configuration; 'GET /v1/responses' of a running gateway uses its current rules. ID identifies an entry for 'cache-dump show'; variants of a URL share an ID.

            JSON: one object per entry, with the keys id, entry (a number that distinguishes variants), kind (response \
            or object), state, method, url, key (of an object), partition (common, principal, credentials or job), status, \
            contentType, bodyLength, storedAt, expiresAt, lastUsedAt (ISO 8601), ageSeconds, timeToLiveSeconds \
            (negative once stale), usableStale, pinned, vary (names of request fields). All keys are always present; null \
            means that there is no value.

            EXAMPLES
              cache-dump list feed.store --kind responses --limit 20
              cache-dump list feed.store --format json | jq -r .url
            """
    )

    enum Kinds: String, ExpressibleByArgument, CaseIterable {
        case responses, objects
    }

    @OptionGroup var options: StoreOptions

    @Option(help: ArgumentHelp("List only responses whose URL begins with this prefix.", valueName: "prefix"))
    var urlPrefix: String?

    @Option(help: "List only entries of this kind.")
    var kind: Kinds?

    @Flag(help: "List only entries that are no longer fresh.")
    var expired = false

    // A negative number is a value, not an option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("List at most this many entries.", valueName: "count"),
        transform: { try WholeNumber.read($0) }
    )
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("'--limit' must be 1 or more, not '\(limit)'.") }
        if urlPrefix != nil, kind == .objects {
            throw ValidationError("Objects have no URL: omit '--url-prefix'.")
        }
    }

    func run() async throws {
        let now = SystemWallClock().now()
        try await options.withStore { store in
            var output = Output()
            var count = 0
            if options.format == .text { try output.line(Table.head) }
            for try await entry in store.entries(storedKind) where isWanted(entry, at: now) {
                let report = try await store.report(entry, at: now)
                switch options.format {
                case .text: try output.line(Table.row(report))
                case .json: try output.json(report)
                }
                count += 1
                if count == limit { break }
            }
            try output.flush()
            if count == 0, let urlPrefix {
                StandardStream.error.line(
                    "No URL begins with '\(Formatting.printable(urlPrefix))'. Responses are stored under the URLs of their origins, such as 'https://api.example.com/'; 'list' without '--url-prefix' shows them."
                )
            }
        }
    }

    /// A URL prefix excludes other entries, because only responses have a URL.
    private var storedKind: StoreEntry.Kind? {
        switch kind {
        case .responses: .response
        case .objects: .object
        case nil: urlPrefix == nil ? nil : .response
        }
    }

    private func isWanted(_ entry: StoreEntry, at now: Timestamp) -> Bool {
        if expired, !entry.isExpired(at: now) { return false }
        if let urlPrefix { return entry.redactedURI?.hasPrefix(urlPrefix) ?? false }
        return true
    }
}

/// The table that `list` prints. Every column except the last has a fixed width, so that rows can
/// be printed while the store is being read.
private enum Table {
    static let head = row("ID", "STATE", "AGE", "SIZE", "STATUS", "METHOD", "URL OR KEY")

    static func row(_ report: EntryReport) -> String {
        let entry = report.entry
        return row(
            String(entry.shortID.prefix(12)),
            report.state.rawValue,
            Formatting.duration(milliseconds: report.age),
            Formatting.size(entry.bodyLength),
            entry.status.map { String($0.code) } ?? "-",
            entry.method.map { Formatting.printable($0.rawValue) } ?? "object",
            Formatting.printable(report.name) + remark(entry)
        )
    }

    /// Returns text that distinguishes entries with the same URL.
    private static func remark(_ entry: StoreEntry) -> String {
        var remarks: [String] = []
        if let partition = entry.partition, partition != .common { remarks.append("for \(partition.word)") }
        if !entry.selectingNames.isEmpty { remarks.append("varies by \(entry.selectingNames.joined(separator: ", "))") }
        if entry.isPinned { remarks.append("pinned") }
        return remarks.isEmpty ? "" : "  (\(Formatting.printable(remarks.joined(separator: "; "))))"
    }

    private static func row(
        _ id: String,
        _ state: String,
        _ age: String,
        _ size: String,
        _ status: String,
        _ method: String,
        _ name: String
    ) -> String {
        [
            Formatting.padded(id, to: 12), Formatting.padded(state, to: 11), Formatting.aligned(age, to: 8),
            Formatting.aligned(size, to: 7), Formatting.aligned(status, to: 6), Formatting.padded(method, to: 6), name,
        ].joined(separator: "  ")
    }
}

extension StoreEntry.Partition {
    /// The owner in words, for use in a sentence.
    var word: String {
        switch self {
        case .common: "everyone"
        case .principal: "one principal"
        case .credentials: "the request's credentials"
        case .job: "a recorded job"
        }
    }
}
