import ArgumentParser
import CommandLineSupport
import HoldfastControl

/// The options that select stored responses, for purges and pins.
struct SelectorOptions: ParsableArguments {
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

    /// The selection that they make.
    var selection: PurgeRequest.Selection {
        var selection = PurgeRequest.Selection()
        selection.urls = urls
        selection.tags = tags
        selection.prefixes = prefixes
        selection.hosts = hosts
        selection.all = all
        return selection
    }

    func validate() throws {
        let selection = selection
        guard selection.count > 0 else {
            throw ValidationError("Name URLs, or '--tag', '--prefix', '--host' or '--all'.")
        }
        if all, selection.count > 1 {
            throw ValidationError("'--all' includes every other response: name it alone.")
        }
        do {
            _ = try PurgeRequest(selection, reason: reason).scopes()
        } catch let problem as ControlProblem {
            throw ValidationError(PurgeWords.text(problem))
        }
    }

    /// Says that nothing matched, unless everything was selected.
    func noteMatched(_ count: Int) {
        guard count == 0, !all else { return }
        StandardStream.error.line("Nothing matched. 'cache-dump list' shows the URLs and tags of a store.")
    }
}
