import ArgumentParser

/// `holdfast pin URL…`, `holdfast pin --tag TAG`
struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pins stored responses, so that they are not evicted, also of a running gateway.",
        discussion: """
            The selected responses that are stored now are pinned: all variants and partitions of a URL. A pin passes on to the response that replaces a pinned one, and \
            stays when the response expires or is purged. Only 'holdfast unpin' and the removal of the response end it. Responses that are stored for the first time \
            later are not pinned; for those, a rule has 'store: {pin: true}'.

            The pins are durable when the command ends. A running gateway pins through its control socket; in a store that no process has open, the command itself does. \
            Pins may take half of the budget of the store: what would take more is rejected as a whole. In a store that no process has open, the budget is known \
            only with '--config'.

            \(GatewayPlace.help)

            JSON: one object, with the keys changed, dryRun, matched, pinned and pins.

            The exit status is 0 if the responses are pinned, also if nothing matched; 1 if the store, the file or the gateway cannot be used, or the gateway rejected it; \
            64 if the command line is wrong.

            Examples:
              holdfast pin https://api.example.com/feed --store feed.store
              holdfast pin --tag essential --reason 'trade fair' --config holdfast.yaml
              holdfast pin --prefix https://api.example.com/v1/ --dry-run --socket /run/holdfast/control.sock
            """
    )

    @OptionGroup var selectors: SelectorOptions
    @OptionGroup var place: GatewayPlace

    func run() async throws { try await PinChange(selectors: selectors, pinned: true).perform(at: place) }
}
