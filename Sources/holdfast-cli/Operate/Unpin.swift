import ArgumentParser

/// `holdfast unpin URL…`, `holdfast unpin --all`
struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unpins stored responses so that they may be evicted.",
        discussion: """
            Removes the pins of the selected responses, whether 'holdfast pin' or a rule set them. A rule with 'store: {pin: true}' pins a response again when it is \
            stored again. No response is removed.

            \(GatewayLocation.help)

            JSON: one object, with the keys changed, dryRun, matched, pinned and pins.

            The exit status is 0 if the responses are unpinned, even if nothing matched; 1 if the store, the file or the gateway cannot be used, or the gateway rejected the command; \
            64 if the command line is invalid.

            Examples:
              holdfast unpin https://api.example.com/feed --store feed.store
              holdfast unpin --all --config holdfast.yaml
            """
    )

    @OptionGroup var selectors: SelectorOptions
    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var location: GatewayLocation

    func run() async throws {
        try await PinChange(selectors: selectors, isDryRun: dryRun.isDryRun, pinned: false).perform(at: location)
    }
}
