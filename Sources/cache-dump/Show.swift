import ArgumentParser
import CommandLineSupport
import HTTPCache
import HTTPCacheSemantics
import OfflineStore

/// `cache-dump show STORE KEY-OR-URL`.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows an entry's metadata, header fields, and the start of its body.",
        discussion: """
            KEY is a URL, an object's key, or an ID from 'cache-dump list' (four digits or more). The URL is the \
            origin's: no configuration is read, so the URLs that a gateway's clients request are not known. A URL may \
            have several entries: variants, methods, principals. All are shown; '--entry' selects one.

            JSON: one object per entry, with the keys of 'list' and: tags, fields and selectingFields (arrays of \
            [name, value]), freshnessSource (maxAge, sMaxage, expires, heuristic, explicitExpiry, rule, \
            ruleDefault or none), \
            freshnessLifetimeSeconds, bodyPreview (text; null for other bodies), invalidatedBy (unsafe-method, unspecified, or \
            null).

            EXAMPLES
              cache-dump show feed.store 'https://api.example.com/moments?userID=harbour'
              cache-dump show feed.store 3f2a9c01d2e4 --format json
              cache-dump show feed.store draft --body > draft.json
            """
    )

    @OptionGroup var options: StoreOptions

    @Argument(help: "URL of the origin, key of an object, or ID.")
    var key: String

    @Option(
        help: ArgumentHelp("Show only the entry with this number.", valueName: "number"),
        transform: { try WholeNumber.read($0) }
    )
    var entry: Int64?

    @Flag(help: "Write only the body: all of it, as stored.")
    var body = false

    func run() async throws {
        let now = SystemWallClock().now()
        try await options.withStore { store in
            let found = try await Lookup(store: store, key: key).entries(number: entry)
            var output = Output()
            if body {
                try await Body(store: store, entry: try single(found)).write(to: &output)
            } else {
                for (index, entry) in found.enumerated() {
                    let details = try await EntryDetails(entry, in: store, at: now)
                    switch options.format {
                    case .text:
                        if index > 0 { try output.line("") }
                        for line in details.lines(at: now) { try output.line(line) }
                    case .json: try output.json(details)
                    }
                }
            }
            try output.flush()
        }
    }

    private func single(_ entries: [StoreEntry]) throws -> StoreEntry {
        guard entries.count == 1 else {
            let numbers = entries.prefix(10).map { String($0.id) }.joined(separator: ", ")
            throw CommandFailure(
                "\(entries.count) entries match, but '--body' writes only one. Select it with '--entry NUMBER': \(numbers)."
            )
        }
        return entries[0]
    }
}
