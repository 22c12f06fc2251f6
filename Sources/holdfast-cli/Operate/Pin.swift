import ArgumentParser

/// `holdfast pin URL…`, `holdfast pin --tag TAG`
struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pins stored responses so that they are not evicted.",
        discussion: """
            Pins the selected responses that are stored now: all variants and partitions of a URL. If another response replaces a pinned one, it is pinned too. A pin \
            stays if the response expires or is purged. It ends only with 'holdfast unpin' or when the response is removed. Responses that are stored for the first time \
            later are not pinned; to pin those, set 'store: {pin: true}' in a rule.

            The pins are durable when the command ends. If a gateway has the store open, the command uses the gateway's control socket; otherwise it pins in the store itself. \
            Pins may take up to half of the store's budget; a command that would exceed this is rejected as a whole. Without a running gateway, the budget is known \
            only with '--config'.

            \(GatewayLocation.help)

            JSON: one object, with the keys changed, dryRun, matched, pinned and pins.

            The exit status is 0 if the responses are pinned, even if nothing matched; 1 if the store, the file or the gateway cannot be used, or the gateway rejected the command; \
            64 if the command line is invalid.

            Examples:
              holdfast pin https://api.example.com/feed --store feed.store
              holdfast pin --tag essential --reason 'trade fair' --config holdfast.yaml
              holdfast pin --prefix https://api.example.com/v1/ --dry-run --socket /run/holdfast/control.sock
            """
    )

    @OptionGroup var selectors: SelectorOptions
    @OptionGroup var dryRun: DryRunOption
    @OptionGroup var location: GatewayLocation

    func run() async throws {
        try await PinChange(selectors: selectors, isDryRun: dryRun.isDryRun, pinned: true).perform(at: location)
    }
}
