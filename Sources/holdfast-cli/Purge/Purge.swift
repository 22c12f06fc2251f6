import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastControl

/// `holdfast purge URL…`, `holdfast purge --tag TAG`, `holdfast purge --all`
struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Purges stored responses, also of a running gateway.",
        discussion: """
            The selected responses expire: they are validated with their origin before their next use, and are still served while it is unreachable. \
            With '--remove' they are removed, offline copies too; on a terminal the command asks first. All variants and partitions of a URL are purged. URLs, prefixes and hosts are those of the origin, \
            as 'cache-dump list' shows them. A prefix covers the URLs of one origin that begin with it, byte by byte: end it in '/' to cover whole parts only.

            The purge is in force for the next request, and survives a crash, when the command ends. A response that is being fetched meanwhile is not stored. \
            A running gateway is purged through its control socket; a store that no process has open is purged by the command itself.

            With '--refresh 20/s' a running gateway fetches the expired responses again, in the background and at that pace, so that no client waits for them. Only GETs \
            without credentials can be repeated; the rest is left to clients. 'GET /v1/refreshes' on the control socket shows how far it got.

            A gateway that shares its purges with other nodes says how far the purge has come: 'queued' (it waits in the journal of the node), 'shared' (in the log that all nodes read), \
            'replicated' (as many replicas as 'shared.quorum' says have it) or 'everywhere' (in force at every node). With '--wait LEVEL' the command waits for a level, at most '--within TIME'. \
            The purge is in force at the gateway before, and goes on to the others after the wait.

            \(GatewayPlace.help)

            JSON: one object, with the keys action, dryRun, matched, refreshing and sequence, and, of a gateway that shares its purges, reached, position, replicas, nodes and note.

            The exit status is 0 if the purge is in force, also if nothing matched; 2 if it is in force, but has not come to the level of '--wait' in time; 1 if the store, the file or the gateway cannot be used, the gateway rejected the purge, or the question was not answered with yes; \
            64 if the command line is wrong.

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

    @Flag(help: "Removes the responses, offline copies too.")
    var remove = false

    @Flag(help: "Removes without asking. Without a terminal, nothing is asked.")
    var yes = false

    @Option(
        help: ArgumentHelp(
            "Fetches the expired responses again in the background, at most so many a second.",
            valueName: "n/s"
        )
    )
    var refresh: String?

    @Option(
        name: .customLong("refresh-at-most"),
        help: ArgumentHelp("The most responses that are fetched again. Default: 5000", valueName: "n")
    )
    var refreshCount: Int?

    @Option(
        help: ArgumentHelp(
            "How far it must come before the command ends. Default: as 'shared.acknowledge' says.",
            valueName: "level"
        )
    )
    var wait: Level?

    @Option(
        help: ArgumentHelp(
            "The longest wait, at most 1m. Default: 1s, and 5s for 'everywhere'.",
            valueName: "time"
        )
    )
    var within: String?

    @OptionGroup var place: GatewayPlace

    func validate() throws {
        if let within {
            do {
                try PurgeWait.check(within)
            } catch {
                throw ValidationError(PurgeWords.text(error))
            }
        }
        if let refresh, RefreshPace(rate: refresh) == nil {
            let rates = RefreshPace.rates
            throw ValidationError(
                "'--refresh' is '\(refresh)'; a rate from \(rates.lowerBound)/s to \(rates.upperBound)/s is expected: 20/s."
            )
        }
        if refresh != nil, remove {
            throw ValidationError("'--refresh' stands beside '--remove', which leaves no response to be fetched again.")
        }
        guard let refreshCount else { return }
        guard refresh != nil else { throw ValidationError("'--refresh-at-most' needs '--refresh': name a rate, 20/s.") }
        let counts = RefreshPace.counts
        guard counts.contains(refreshCount) else {
            throw ValidationError(
                "'--refresh-at-most' is '\(refreshCount)'; a number from \(counts.lowerBound) to \(counts.upperBound) is expected."
            )
        }
    }

    func run() async throws {
        if remove, !selectors.dryRun, !yes, Confirmation.isPossible {
            var preview = purge
            preview.dryRun = true
            let question = Self.question(try await perform(preview))
            guard Confirmation.ask(question) else { throw CommandFailure("Nothing was removed.") }
        }
        let result = try await perform(purge)
        try place.write(result, Self.text)
        selectors.noteMatched(result.matched.responses)
        try checkReached(result)
    }

    private func perform(_ purge: PurgeRequest) async throws -> PurgeResult {
        if let socket = place.socket {
            return try await ControlClient(socket: ControlSocket(path: socket)).purge(purge)
        }
        let store = try place.namedStore()
        return try await PurgedStore(folder: store.folder, configuration: store.settings ?? PurgedStore.unknown)
            .purge(purge)
    }

    private var purge: PurgeRequest {
        var pace = refresh.flatMap { RefreshPace(rate: $0) }
        if let refreshCount { pace?.atMost = refreshCount }
        return PurgeRequest(
            selectors.selection,
            action: remove ? .remove : .expire,
            dryRun: selectors.dryRun,
            reason: selectors.reason,
            refresh: pace,
            wait: wait?.level,
            within: within
        )
    }

    /// The question before responses are removed.
    private static func question(_ result: PurgeResult) -> String {
        "Remove \(numbers(result.matched))? They cannot be served offline afterwards."
    }

    private static func numbers(_ matched: PurgeResult.Matched) -> String {
        let number = "\(matched.exact ? "" : "about ")\(matched.responses) response\(matched.responses == 1 ? "" : "s")"
        let only = matched.onlyWhileFresh ?? 0
        let lost = only > 0 ? ", \(only) usable only while fresh" : ""
        return "\(number), \(matched.bytes) bytes, \(matched.onlyOfflineCopies) of them only offline copies\(lost)"
    }

    /// One line for people.
    static func text(_ result: PurgeResult) -> String {
        let verb: String
        switch (result.action, result.dryRun) {
        case (.expire, false): verb = "Expired"
        case (.expire, true): verb = "Would expire"
        case (.remove, false): verb = "Removed"
        case (.remove, true): verb = "Would remove"
        }
        var text = "\(verb) \(numbers(result.matched))."
        if result.coversEverything == true {
            text += " Too many prefixes were being purged at once: every response has expired."
        }
        if let count = result.refreshing {
            text += result.dryRun ? " Would fetch up to \(count) again." : " Up to \(count) are fetched again."
        }
        if let sequence = result.sequence { text += " Sequence \(sequence)." }
        return text + reachText(result)
    }
}

extension RefreshPace {
    /// A rate as a person writes it: `20/s`; `nil` if it is none.
    fileprivate init?(rate: String) {
        guard rate.hasSuffix("/s"), let number = Int(rate.dropLast(2)), Self.rates.contains(number) else { return nil }
        self.init(perSecond: number)
    }
}
