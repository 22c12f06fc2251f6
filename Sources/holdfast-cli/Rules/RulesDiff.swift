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
            Nothing is changed, nothing is fetched, and a service may use the store meanwhile. For each rule that decides a change: the number of stored responses, and \
            some of them.

              key        the response would be looked up under another key: by its old one it is not found any more. 'holdfast rules apply' moves it.
              lifetime   it is fresh for longer or shorter.
              staleness  it is used for longer or shorter after that, or a directive now forbids that, or no longer does.
              passed by  no request looks it up any more: requests bypass the store (bypass, store.methods), or its status is not stored.
              untold     the change is unknown, because it depends on data that is not stored.

            Of a response's request, the store has the key (method and target) and the fields that 'Vary' names. So rules that match by URL, method and content type are compared. \
            The principal of a response is not known, because the key has an HMAC of fields that are not stored: a change of 'store.per', or of credentials that are ignored or removed, is \
            'untold'. So is a parameter or a field that was ignored before: its value is not stored.

            The exit status is 0 when the count succeeded, 1 when not, 64 when the command line is wrong.

            JSON: one object for each rule, with the keys kind (rule), rule, in (old or new: whose rule it is), line, keys, lifetimes, stalenesses, passedBy, untold and examples; \
            then one with the kind summary, with examined, changed, superseded (by newer ones under their new key), damaged, and the same counts. Rule and line are missing if no rule decides.

            EXAMPLE
              holdfast rules diff holdfast.yaml new.yaml --store api.store
            """
    )

    @Argument(help: "The configuration in force.")
    var old: String

    @Argument(help: "The configuration that replaces it.")
    var new: String

    @OptionGroup var options: RuleOptions

    @Option(help: ArgumentHelp("The largest number of stored responses to show for each rule.", valueName: "count"))
    var examples = 3

    func validate() throws {
        guard (0...1000).contains(examples) else {
            throw ValidationError("'--examples' is a number from 0 to 1000; '\(examples)' is not.")
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
