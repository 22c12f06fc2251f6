import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast mode`, `holdfast mode offline --until 14:00`
struct Mode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the mode of a running gateway, or switches it until a given time.",
        discussion: """
            Without an argument, prints the current mode. A mode other than the configured mode needs an end. After that time, the configured mode applies again, even if the gateway crashed or \
            restarted in between. A reload does not end the switch. To end it early, set the configured mode without an end.

            \(TemporaryOptions.help)

            The new mode applies from the next request. Modes of routes and rules can narrow it, as they narrow the configured mode.

            \(GatewayLocation.help)

            JSON: one object, with the keys mode, configured, until, since, reason and by.

            The exit status is 0 if the mode is in force, 1 if no gateway can be reached or it rejected the mode, 64 if the command line is invalid.

            Examples:
              holdfast mode --store feed.store
              holdfast mode offline --until 14:00 --reason 'origin migration' --config holdfast.yaml
              holdfast mode preferStored --for 2h --socket /run/holdfast/control.sock
              holdfast mode automatic --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("online, automatic, preferStored or offline.", valueName: "mode"))
    var mode: Serve.Mode?

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        if mode == nil, temporary.isAnyNamed {
            throw ValidationError(
                "'--until', '--for' and '--reason' need a mode: online, automatic, preferStored or offline."
            )
        }
    }

    func run() async throws {
        let gateway = try location.gateway()
        let report: ModeReport
        if let mode {
            let request = ModeRequest(
                mode.offlineMode,
                until: temporary.end,
                for: temporary.length,
                reason: temporary.reason
            )
            report = try await gateway.send(.PUT, "/v1/mode", request)
        } else {
            report = try await gateway.get("/v1/mode")
        }
        try location.write(report, Self.text)
    }

    /// Returns the mode as one human-readable line.
    static func text(_ report: ModeReport) -> String {
        guard let until = report.until else { return "The mode is \(report.mode.rawValue)." }
        let reason = report.reason.map { " Reason: \($0)." } ?? ""
        let end = "until \(TemporaryOptions.shown(until)), then \(report.configured.rawValue)"
        return "The mode is \(report.mode.rawValue) \(end).\(reason)"
    }
}
