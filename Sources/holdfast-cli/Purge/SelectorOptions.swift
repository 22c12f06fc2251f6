import ArgumentParser
import CommandLineSupport
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastControl
import HoldfastGateway

/// The options that select stored responses, for purges and pins.
struct SelectorOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Absolute http or https URLs, as the origin has them; with '--config', or if a gateway has the store open, also as clients request them.",
            valueName: "url"
        )
    )
    var urls: [String] = []

    @Option(name: .customLong("tag"), help: ArgumentHelp("Tag. Repeatable.", valueName: "name"))
    var tags: [String] = []

    @Option(
        name: .customLong("prefix"),
        help: ArgumentHelp("Prefix of URLs of one origin. Repeatable.", valueName: "url")
    )
    var prefixes: [String] = []

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp("Host, on every port. Repeatable.", valueName: "host")
    )
    var hosts: [String] = []

    @Flag(help: "Every stored response.")
    var all = false

    @Option(help: ArgumentHelp("Reason, for the gateway's log.", valueName: "text"))
    var reason: String?

    /// The selection that the options make.
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
            throw ValidationError("Nothing is selected. Give URLs, '--tag', '--prefix', '--host' or '--all'.")
        }
        if all, selection.count > 1 {
            throw ValidationError("'--all' already covers every response. Use it without other selectors.")
        }
        do {
            _ = try PurgeRequest(selection, reason: reason).scopes()
        } catch let problem as ControlProblem {
            var message = OptionWords.text(problem)
            if let word = urls.first(where: { $0.wholeMatch(of: /[A-Za-z0-9_-]{1,64}/) != nil }) {
                message += " For a tag, use '--tag \(word)'."
            }
            throw ValidationError(message)
        }
    }

    /// Reports that nothing matched, unless everything was selected, and where the responses for
    /// the hosts that clients request are stored.
    func noteMatched(_ count: Int, at location: GatewayLocation) async {
        if let note = preservedHostNote(at: location) { StandardStream.error.line(note) }
        guard count == 0, !all else { return }
        var text = "Nothing matched." + placesNote(at: location)
        for host in hosts {
            guard let url = await location.originURL(ofHost: host) else { continue }
            text +=
                " Clients request '\(host)', and the responses are stored under '\(url)': use '--prefix \(url)'."
        }
        // A query may hold a secret.
        if let url = urls.first(where: { $0.hasSuffix("/") && !$0.contains("?") }) {
            text += " '\(url)' is one URL. For all URLs that begin with it, use '--prefix \(url)'."
        }
        if let tag = tags.first(where: { $0.contains(",") }) {
            text += " '\(tag)' is one tag. For several tags, repeat '--tag'."
        }
        if location.socket == nil, !(urls + prefixes).isEmpty, (try? location.namedStore(warns: false))?.routes == nil {
            text +=
                " If no gateway has the store open, a URL that clients request is found only with '--config', whose routes lead to the origin's URL."
        }
        if let tag = tags.first(where: { $0.contains("*") }) {
            text += " Tags have no patterns: '--tag \(tag)' means the tag with exactly this name."
        }
        StandardStream.error.line(
            "\(text) 'cache-dump list STORE' shows the URLs of a store, and 'cache-dump show STORE URL' the tags of a response."
        )
    }

    /// Returns where the responses to clients' URLs and prefixes were looked for.
    private func placesNote(at location: GatewayLocation) -> String {
        guard location.socket == nil, let store = try? location.namedStore(warns: false) else { return "" }
        func targets(_ texts: [String]) -> [TargetURI] { texts.compactMap { try? TargetURI($0) } }
        let urls = targets(urls).flatMap { store.originURLs(of: $0) }
        let places = urls + targets(prefixes).flatMap { store.originPrefixes(of: $0) }
        guard !places.isEmpty else { return "" }
        let names = places.prefix(3).map { "'\($0.url.redacted)'" }.joined(separator: ", ")
        return " Looked for \(names)\(places.count > 3 ? " and \(places.count - 3) more" : "")."
    }

    /// Returns where responses are stored, if a URL or a prefix names an origin that gets the host
    /// of its clients.
    private func preservedHostNote(at location: GatewayLocation) -> String? {
        guard location.socket == nil, let routes = (try? location.namedStore(warns: false))?.routes else { return nil }
        for target in (urls + prefixes).flatMap({ (try? TargetURI.readings(of: $0)) ?? [] })
        where routes.keepsClientsHosts(of: target) {
            return
                "The route to '\(target.scheme)://\(target.authority)' has 'preserve-host', so its responses are stored under the hosts that clients request. Use the URLs that clients request."
        }
        return nil
    }
}
