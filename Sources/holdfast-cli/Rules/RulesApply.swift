import ArgumentParser
import CommandLineSupport
import HTTPCache
import Holdfast
import HoldfastConfiguration

/// `holdfast rules apply NEW --store STORE`
struct RulesApply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Moves stored responses to the keys of a new configuration, without rewriting bodies.",
        discussion: """
            Moves each response whose key changes under the rules to its new key. If two responses end up with the same key and variant, the newer one is kept. Afterwards, the store's rows hold no values of ignored parameters \
            and fields; with 'secure-delete: true' in the configuration, neither do its files. The expiry in the store's index is updated. The principal of a response does not change: \
            if the new configuration adds 'store.per', responses that are already stored keep their keys.

            Only one process may write to a store, so stop the service first, and then start it with the same configuration. Each step is on disk before the next one begins; if the command is \
            interrupted, run it again. Use the service's own configuration: its budget and quotas apply.

            JSON: one object with the keys examined, moved, reindexed, superseded and damaged.

            The exit status is 0 if everything was done, 1 if not, 64 if the command line is invalid.

            Example:
              holdfast rules apply new.yaml --store api.store
            """
    )

    @Argument(help: "Configuration file to apply.")
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
        // Open it read-only first, so that a mistyped path creates no store.
        try await options.reading { _ in }
        let policy = options.policy(configuration)
        let rules = configuration.rules
        let store = try await CacheManager.open(
            at: options.store,
            configuration: CacheManager.Configuration(configuration.store)
        )
        return try await RuleOptions.using(store) { store in
            try await store.reviseResponses { stored in
                let filing = RuledResponse(stored, rules: rules, policy: policy)
                return ResponseRevision(
                    key: filing.key,
                    selectingFields: filing.head.selectingFields,
                    freshUntil: filing.freshUntil,
                    // A response that was stored with an explicit expiry is usable with any status.
                    isUsableStale: stored.head.explicitExpiry == nil ? filing.isUsableStale : nil
                )
            }
        }
    }

    private static func text(_ summary: RevisionSummary) -> [String] {
        let examined = "\(summary.examined) stored \(summary.examined == 1 ? "response" : "responses") examined"
        if summary.isUnchanged { return ["\(examined); nothing to change."] }
        var lines = [
            "\(examined): \(summary.moved) have a new key or variant, "
                + "\(summary.reindexed) a new expiry."
        ]
        if summary.superseded > 0 {
            lines.append("\(summary.superseded) replaced by newer responses under the new key.")
        }
        if summary.damaged > 0 { lines.append("\(summary.damaged) could not be read, and were removed.") }
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
