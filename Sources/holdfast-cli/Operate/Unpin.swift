import ArgumentParser

/// `holdfast unpin URL…`, `holdfast unpin --all`
struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Unpins stored responses, so that they may be evicted, also of a running gateway.",
        discussion: """
            The selected responses lose their pins, whether 'holdfast pin' or a rule has set them. A rule with 'store: {pin: true}' pins a response again when it is \
            stored again. Nothing is removed.

            \(GatewayPlace.help)

            JSON: one object, with the keys changed, dryRun, matched, pinned and pins.

            The exit status is 0 if the responses are unpinned, also if nothing matched; 1 if the store, the file or the gateway cannot be used, or the gateway rejected it; \
            64 if the command line is wrong.

            Examples:
              holdfast unpin https://api.example.com/feed --store feed.store
              holdfast unpin --all --config holdfast.yaml
            """
    )

    @OptionGroup var selectors: SelectorOptions
    @OptionGroup var place: GatewayPlace

    func run() async throws { try await PinChange(selectors: selectors, pinned: false).perform(at: place) }
}
