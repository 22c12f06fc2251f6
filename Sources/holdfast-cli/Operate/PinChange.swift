import CommandLineSupport
import GatewayRouting
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import NIOHTTP1

/// A change of pins by `holdfast pin` or `holdfast unpin`.
struct PinChange {
    let selectors: SelectorOptions
    let isDryRun: Bool
    let pinned: Bool

    /// Pins or unpins the responses and writes the result.
    func perform(at location: GatewayLocation) async throws {
        let change = PinRequest(
            selectors.selection,
            pinned: pinned,
            dryRun: isDryRun,
            reason: selectors.reason
        )
        let result: PinResult
        if location.socket != nil {
            result = try await location.gateway().send(.POST, "/v1/pins", change, isQueued: true)
        } else {
            let store = try location.namedStore()
            let change = change.resolved(by: store)
            result = try await PurgedStore(store, timeLimit: location.timeLimit).pin(change)
        }
        try location.write(result, Self.text)
        await selectors.noteMatched(result.matched.responses, at: location)
    }

    /// Returns the result as one human-readable line.
    static func text(_ result: PinResult) -> String {
        let verb = (result.dryRun ? "Would " : "") + (result.pinned ? "pin" : "unpin") + (result.dryRun ? "" : "ned")
        let matched = result.matched
        let number = "\(result.changed) of \(matched.exact ? "" : "about ")\(matched.responses)"
        let count = result.pins.entries
        let pins = "\(count) \(count == 1 ? "entry" : "entries"), \(ByteSize.text(result.pins.bytes))"
        return "\(verb.prefix(1).uppercased())\(verb.dropFirst()) \(number) selected responses. Pinned now: \(pins)."
    }
}
