import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastConfiguration

/// `holdfast rules diff OLD NEW --store STORE`
struct RulesDiff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Counts the stored responses that change when one configuration replaces another.",
        discussion: """
            Sends no request and changes nothing; a service may use the store at the same time. For each rule that decides a change, prints the number of stored responses and \
            some examples.

              key        the response would be looked up under a new key, and is no longer found under its old key. 'holdfast rules apply' moves it.
              lifetime   it is fresh for a longer or shorter time.
              staleness  it may be served stale for a longer or shorter time, or a directive now forbids that, or no longer does.
              passed by  no request looks it up anymore: requests bypass the store (bypass, store.methods), or its status is not stored.
              route      no client finds it anymore, because no route leads to it: 'origin', 'host', 'path' or 'preserve-host' of a route, a route before it (such as one with 'respond'), or a port of 'listen', changed. It is fetched again.
              scheme     no client finds it anymore, because 'listen' or 'clients.trusted' changes which schemes clients use. It is fetched again.
              untold     unknown, because the change depends on data that is not stored.

            The store has the key of a response (method and target) and the request fields that 'Vary' names, so rules that match by URL, method and content type can be compared. \
            The principal is not known, because the key holds only an HMAC of the fields: a change of 'store.per', or of credentials that are ignored or removed, is \
            'untold'. The same is true of a parameter or a field that was ignored before, because its value is not stored.

            JSON: one object for each rule, with the keys kind (rule), rule, in (old or new: which file has the rule), line, keys, lifetimes, stalenesses, passedBy, routes, schemes, untold and examples; \
            then one with the kind summary, with examined, changed, superseded (by newer responses under the new key), damaged, and the same counts. The keys rule and line are missing if no rule decides.

            The exit status is 0 if the responses were counted, 1 if not, 64 if the command line is invalid.

            Example:
              holdfast rules diff holdfast.yaml new.yaml --store api.store
            """
    )

    @Argument(help: "Current configuration file.")
    var old: String

    @Argument(help: "Configuration file that replaces it.")
    var new: String

    @OptionGroup var options: RuleOptions

    @Option(help: ArgumentHelp("Maximum number of examples for each rule.", valueName: "count"))
    var examples = 3

    func validate() throws {
        guard (0...1000).contains(examples) else {
            throw ValidationError("'--examples' must be a number from 0 to 1000, not '\(examples)'.")
        }
    }

    func run() async throws {
        let (old, new) = (try ConfigurationFile.readWithoutValues(old), try ConfigurationFile.readWithoutValues(new))
        do {
            var comparison = RuleComparison(old: old, new: new, policy: options.policy(new), exampleLimit: examples)
            try await options.reading { store in
                for try await entry in store.entries(.response) {
                    if let stored = try await store.response(of: entry) {
                        comparison.add(stored)
                    } else {
                        comparison.addUnreadable()
                    }
                }
            }
            switch options.format {
            case .json:
                for change in comparison.changes { try RuleOptions.line(change) }
                try RuleOptions.line(comparison.summary)
            case .text:
                for line in comparison.text(old: self.old, new: self.new) { StandardStream.output.line(line) }
            }
        } catch let error as StoreError {
            throw CommandFailure("\(error)")
        }
    }
}
