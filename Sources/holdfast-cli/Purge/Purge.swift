import ArgumentParser
import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import HoldfastGateway

/// `holdfast purge URL…`, `holdfast purge --tag TAG`, `holdfast purge --all`
struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Purges stored responses.",
        discussion: """
            Expires the selected responses: each is validated with its origin before its next use, and may still be served while the origin is unreachable, unless a directive forbids it. \
            With '--remove', the responses are deleted, including offline copies; on a terminal, the command asks first. All variants and partitions of a URL are purged. URLs and prefixes are the origin's, \
            as 'cache-dump list' shows them, or those that clients request from the gateway; hosts are the origin's. A prefix covers the URLs of one origin that begin with it, byte by byte: end it with '/' to match whole path segments.

            When the command ends, the purge applies to the next request. It survives a crash, unless the disk is full or read-only, which the command reports. A response that was being fetched during the purge is not stored. \
            If a gateway has the store open, the command uses the gateway's control socket; otherwise it purges the store itself.

            With '--refresh 20/s', a running gateway fetches the expired responses again in the background, at that rate, so that no client waits for them. Only GET requests \
            without credentials can be repeated. 'GET /v1/refreshes' on the control socket shows the progress.

            A gateway that shares its purges with other nodes reports how far the purge got: 'queued' (waiting in this node's journal), 'published' (in the log that all nodes read), \
            'replicated' (on as many replicas as 'fleet.quorum' requires) or 'everywhere' (in force on every node). With '--wait LEVEL', the command waits for a level, for at most '--within TIME'. \
            The purge is in force at this gateway before the wait, and keeps spreading to other nodes after it.

            \(GatewayLocation.help)

            JSON: one object, with the keys action, dryRun, durable, matched, refreshing and sequence, and, if the gateway shares its purges, reached, position, replicas, nodes and note.

            The exit status is 0 if the purge is in force, even if nothing matched; 1 if the store, the file or the gateway cannot be used, the gateway rejected the purge, or the question was not answered with yes; \
            2 if the purge is in force but did not reach the level of '--wait' in time, or the level cannot be checked, because no gateway is running or it shares no purges; \
            3 if the purge is in force but not on disk, because the disk is full or read-only; 64 if the command line is invalid.

            Examples:
              holdfast purge https://api.example.com/feed --store feed.store
              holdfast purge --tag news --tag sport --reason 'deploy 412' --config holdfast.yaml
              holdfast purge --prefix https://api.example.com/v1/ --remove --dry-run --store feed.store
              holdfast purge --tag news --refresh 20/s --config holdfast.yaml
              holdfast purge --tag news --wait everywhere --within 10s --config holdfast.yaml
              holdfast purge --all --socket /run/holdfast/control.sock --format json | jq .matched.responses
            """
    )

    @OptionGroup var selectors: SelectorOptions

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Delete the responses, including offline copies.")
    var remove = false

    @Flag(help: "Do not ask before removing responses. Without a terminal, the command never asks.")
    var yes = false

    @Option(
        help: ArgumentHelp(
            "Fetch the expired responses again in the background, at most this many per second.",
            valueName: "n/s"
        )
    )
    var refresh: String?

    @Option(
        name: .customLong("refresh-at-most"),
        help: ArgumentHelp("Maximum number of responses to fetch again. Default: 5000.", valueName: "n"),
        transform: { try WholeNumber.read($0) }
    )
    var refreshCount: Int?

    @Option(
        help: ArgumentHelp(
            "Level to wait for before the command ends. Default: 'fleet.acknowledge'.",
            valueName: "level"
        )
    )
    var wait: Level?

    @Option(
        help: ArgumentHelp(
            "Maximum wait, up to 1m. Default: 1s; 5s for 'everywhere'.",
            valueName: "time"
        )
    )
    var within: String?

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        if dryRun.isDryRun, wait != nil {
            throw ValidationError(
                "'--wait' cannot be combined with '--dry-run', which purges nothing that could reach other nodes. Omit one of them."
            )
        }
        if let within {
            do {
                try PurgeWait.check(within)
            } catch {
                throw ValidationError(OptionWords.text(error))
            }
        }
        if let refresh, RefreshPace(rate: refresh) == nil {
            let rates = RefreshPace.rates
            throw ValidationError(
                "'--refresh' must be a rate from \(rates.lowerBound)/s to \(rates.upperBound)/s, such as 20/s, not '\(refresh)'."
            )
        }
        if refresh != nil, remove {
            throw ValidationError(
                "'--refresh' cannot be combined with '--remove', which leaves no response to fetch again. Omit one of them."
            )
        }
        guard let refreshCount else { return }
        guard refresh != nil else {
            throw ValidationError("'--refresh-at-most' needs '--refresh' with a rate, such as 20/s.")
        }
        let counts = RefreshPace.counts
        guard counts.contains(refreshCount) else {
            throw ValidationError(
                "'--refresh-at-most' must be a number from \(counts.lowerBound) to \(counts.upperBound), not '\(refreshCount)'."
            )
        }
    }

    func run() async throws {
        if remove, !dryRun.isDryRun, !yes, Confirmation.isPossible {
            var preview = purge
            preview.dryRun = true
            let question = Self.question(try await perform(preview).result)
            guard Confirmation.ask(question) else { throw CommandFailure("Nothing was removed.") }
        }
        let purged = try await perform(purge)
        try location.write(purged.result, Self.text)
        await selectors.noteMatched(purged.result.matched.responses, at: location)
        if purged.result.durable == false { throw Self.notDurable }
        try checkReached(purged)
    }

    private func perform(_ purge: PurgeRequest) async throws -> PurgedStore.Purged {
        if location.socket != nil {
            return PurgedStore.Purged(result: try await location.gateway().purge(purge), isByGateway: true)
        }
        let store = try location.namedStore()
        // A running gateway resolves clients' URLs by its own routes.
        let purge = purge.resolved(by: store)
        return try await PurgedStore(store, timeLimit: location.timeLimit).purge(purge)
    }

    private var purge: PurgeRequest {
        var pace = refresh.flatMap { RefreshPace(rate: $0) }
        if let refreshCount { pace?.atMost = refreshCount }
        return PurgeRequest(
            selectors.selection,
            action: remove ? .remove : .expire,
            dryRun: dryRun.isDryRun,
            reason: selectors.reason,
            refresh: pace,
            wait: wait?.level,
            within: within
        )
    }

    /// Returns the question to ask before responses are removed.
    private static func question(_ result: PurgeResult) -> String {
        "Remove \(numbers(result.matched))?\(covered(result)) They cannot be served offline afterwards.\(losses(result))"
    }

    /// The maximum number of jobs that the text names.
    private static let namedJobs = 3

    /// Returns which jobs lose responses. Their replays are refused until they are recorded again.
    private static func losses(_ result: PurgeResult) -> String {
        guard let jobs = result.jobs else { return "" }
        let all = jobs.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let named = all.prefix(namedJobs).map { name, count in
            "'\(name)' (\(count) recorded response\(count == 1 ? "" : "s"))"
        }
        let more = all.count - named.count
        let verb = result.dryRun ? "would lose" : "lose"
        return " Jobs that \(verb) responses: \(named.joined(separator: ", "))\(more > 0 ? " and \(more) more" : "")."
            + (result.dryRun ? "" : " Record them again with 'holdfast record NAME --replace'.")
    }

    /// Returns which responses at origins the prefixes of clients stand for. They may belong to
    /// other routes, too.
    private static func covered(_ result: PurgeResult) -> String {
        guard let covers = result.covers else { return "" }
        return " Covers every response below \(covers.map(\.text).joined(separator: ", "))."
    }

    private static func numbers(_ matched: PurgeResult.Matched) -> String {
        let number = "\(matched.exact ? "" : "about ")\(matched.responses) response\(matched.responses == 1 ? "" : "s")"
        let only = matched.onlyWhileFresh ?? 0
        let lost = only > 0 ? ", \(only) of them usable only while fresh" : ""
        return
            "\(number), \(ByteSize.text(matched.bytes)), \(matched.onlyOfflineCopies) of them only offline copies\(lost)"
    }

    /// Returns the result as one human-readable line.
    static func text(_ result: PurgeResult) -> String {
        let verb: String
        switch (result.action, result.dryRun) {
        case (.expire, false): verb = "Expired"
        case (.expire, true): verb = "Would expire"
        case (.remove, false): verb = "Removed"
        case (.remove, true): verb = "Would remove"
        }
        var text = "\(verb) \(numbers(result.matched)).\(covered(result))\(losses(result))"
        if result.coversEverything == true {
            text += " Too many prefixes were being purged at once, so every response was expired."
        }
        if let count = result.refreshing {
            text += result.dryRun ? " Would fetch up to \(count) again." : " Fetching up to \(count) again."
        }
        if let sequence = result.sequence { text += " Sequence \(sequence)." }
        return text + durabilityText(result) + reachText(result)
    }
}

extension RefreshPace {
    /// Parses a rate such as `20/s`. Returns `nil` if it is invalid.
    fileprivate init?(rate: String) {
        guard rate.hasSuffix("/s"), let number = Int(rate.dropLast(2)), Self.rates.contains(number) else { return nil }
        self.init(perSecond: number)
    }
}
