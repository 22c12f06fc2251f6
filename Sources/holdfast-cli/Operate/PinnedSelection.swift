import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastControl
import NIOHTTP1

/// The options of `holdfast pin` and `holdfast unpin`.
struct PinnedSelection: ParsableArguments {
    @Argument(help: ArgumentHelp("Absolute http or https URLs of the origin.", valueName: "url"))
    var urls: [String] = []

    @Option(name: .customLong("tag"), help: ArgumentHelp("A tag; may be repeated.", valueName: "name"))
    var tags: [String] = []

    @Option(
        name: .customLong("prefix"),
        help: ArgumentHelp("The beginning of URLs of one origin; may be repeated.", valueName: "url")
    )
    var prefixes: [String] = []

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp("A host, on every port; may be repeated.", valueName: "host")
    )
    var hosts: [String] = []

    @Flag(help: "Every response of the store.")
    var all = false

    @Flag(name: .customLong("dry-run"), help: "Counts the responses, and changes nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("A text for the gateway's log.", valueName: "text"))
    var reason: String?

    func validate() throws {
        let change = change(pinned: true)
        guard change.select.count > 0 else {
            throw ValidationError("Name URLs, or '--tag', '--prefix', '--host' or '--all'.")
        }
        if all, change.select.count > 1 {
            throw ValidationError("'--all' includes every other response: name it alone.")
        }
        do {
            _ = try change.scopes()
        } catch let problem as ControlProblem {
            throw ValidationError(PurgeWords.text(problem))
        }
    }

    private func change(pinned: Bool) -> PinRequest {
        var selection = PurgeRequest.Selection()
        selection.urls = urls
        selection.tags = tags
        selection.prefixes = prefixes
        selection.hosts = hosts
        selection.all = all
        return PinRequest(selection, pinned: pinned, dryRun: dryRun, reason: reason)
    }

    /// Pins or unpins the responses, and writes the result.
    func perform(pinned: Bool, at place: GatewayPlace) async throws {
        let change = change(pinned: pinned)
        let result: PinResult
        if let socket = place.socket {
            result = try await ControlClient(socket: ControlSocket(path: socket)).send(.POST, "/v1/pins", change)
        } else {
            let store = try place.namedStore()
            result = try await PurgedStore(folder: store.folder, configuration: store.settings ?? PurgedStore.unknown)
                .pin(change)
        }
        try place.write(result, Self.text)
        if result.matched.responses == 0, !all {
            StandardStream.error.line("Nothing matched. 'cache-dump list' shows the URLs and tags of a store.")
        }
    }

    /// One line for people.
    static func text(_ result: PinResult) -> String {
        let verb = (result.dryRun ? "Would " : "") + (result.pinned ? "pin" : "unpin") + (result.dryRun ? "" : "ned")
        let matched = result.matched
        let number = "\(result.changed) of \(matched.exact ? "" : "about ")\(matched.responses)"
        let count = result.pins.entries
        let pins = "\(count) \(count == 1 ? "entry" : "entries"), \(result.pins.bytes) bytes"
        return "\(verb.prefix(1).uppercased())\(verb.dropFirst()) \(number) selected responses. Pinned now: \(pins)."
    }
}
