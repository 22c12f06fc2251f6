import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastConfiguration

/// `holdfast rules apply NEW --store STORE`
struct RulesApply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Files what is stored as a configuration says, with its bodies where they are.",
        discussion: """
            What is stored under another key than the rules make of it is moved there; of two that come to one key and variant the one received last stays. Values of parameters and fields that are ignored \
            are not in the store's rows afterwards; where the configuration has 'secure-delete: true', in none of its files either. What the store's index says of expiry follows, too. Whose a response is does not change: \
            where 'store.per' begins to count, what was stored before stays where it is.

            The store is written by one process at a time: stop the service first, and start it with the same configuration afterwards. Each step is on disk before the next one begins; when it is \
            killed, run it again. Use it with the configuration that the service has: its budget and its quotas hold.

            The exit status is 0 when all is done, 1 when not, 64 when the command line is wrong.

            JSON: one object with the keys examined, moved, reindexed, superseded and damaged.

            EXAMPLE
              holdfast rules apply new.yaml --store api.store
            """
    )

    @Argument(help: "The configuration.")
    var new: String

    @OptionGroup var options: RuleOptions

    func run() async throws {
        let configuration = try ConfigurationFile.readWithoutValues(new)
        do {
            let summary = try await apply(configuration)
            switch options.format {
            case .json: try RuleOptions.line(Report(summary))
            case .text: for line in Self.text(summary) { StandardStream.output.line(line) }
            }
        } catch let error as StoreError {
            throw CommandFailure("\(error)")
        }
    }

    private func apply(_ configuration: HoldfastConfiguration.Configuration) async throws -> RevisionSummary {
        // A mistyped path makes no store.
        try await options.reading { _ in }
        let policy = options.policy(configuration)
        let rules = configuration.rules
        let usesNoVarySearch = configuration.options.usesNoVarySearch
        let store = try await CacheManager.open(
            at: options.store,
            configuration: CacheManager.Configuration(configuration.store)
        )
        return try await RuleOptions.using(store) { store in
            try await store.reviseResponses { stored in
                guard
                    let filing = StoredFiling(
                        stored,
                        rules: rules,
                        policy: policy,
                        usesNoVarySearch: usesNoVarySearch
                    )
                else { return nil }
                return ResponseRevision(
                    key: filing.key,
                    selectingFields: filing.head.selectingFields,
                    freshUntil: filing.freshUntil,
                    // What was stored by hand with an expiry is usable whatever its status.
                    isUsableStale: stored.head.explicitExpiry == nil ? filing.isUsableStale : nil
                )
            }
        }
    }

    private static func text(_ summary: RevisionSummary) -> [String] {
        if summary.isUnchanged { return ["\(summary.examined) stored responses looked at; nothing was to be changed."] }
        var lines = [
            "\(summary.examined) stored responses looked at: \(summary.moved) have another key or variant now, "
                + "\(summary.reindexed) another expiry."
        ]
        if summary.superseded > 0 { lines.append("\(summary.superseded) gave way to newer ones under their new key.") }
        if summary.damaged > 0 { lines.append("\(summary.damaged) could not be read and were removed.") }
        return lines
    }

    private struct Report: Encodable {
        var examined: Int
        var moved: Int
        var reindexed: Int
        var superseded: Int
        var damaged: Int

        init(_ summary: RevisionSummary) {
            examined = summary.examined
            moved = summary.moved
            reindexed = summary.reindexed
            superseded = summary.superseded
            damaged = summary.damaged
        }
    }
}
