import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast mode`, `holdfast mode offline --until 14:00`
struct Mode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows or switches the mode of a running gateway, with an end.",
        discussion: """
            Without a mode, it shows the one in force. A mode other than the configured one needs an end, after which the configured mode is in force again. \
            It ends by itself, also after a crash and a restart; a reload does not end it. To end it earlier, name the configured mode without an end.

            \(TemporaryOptions.help)

            The new mode is in force for the next request. It is the gateway's: modes of routes and rules can narrow it, as they narrow the configured one.

            \(GatewayPlace.help)

            JSON: one object, with the keys mode, configured, until, since, reason and by.

            The exit status is 0 if the mode is in force, 1 if no gateway can be asked or it rejected the mode, 64 if the command line is wrong.

            Examples:
              holdfast mode --store feed.store
              holdfast mode offline --until 14:00 --reason 'the origin moves' --config holdfast.yaml
              holdfast mode preferStored --for 2h --socket /run/holdfast/control.sock
              holdfast mode automatic --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("online, automatic, preferStored or offline.", valueName: "mode"))
    var mode: Serve.Mode?

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var place: GatewayPlace

    func validate() throws {
        if mode == nil, temporary.isAnyNamed {
            throw ValidationError("Name a mode, or neither '--until' nor '--for' nor '--reason'.")
        }
    }

    func run() async throws {
        let gateway = try place.gateway()
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
        try place.write(report, Self.text)
    }

    /// One line for people.
    static func text(_ report: ModeReport) -> String {
        guard let until = report.until else { return "The mode is \(report.mode.rawValue)." }
        let reason = report.reason.map { " Reason: \($0)." } ?? ""
        let end = "until \(TemporaryOptions.shown(until)), then \(report.configured.rawValue)"
        return "The mode is \(report.mode.rawValue) \(end).\(reason)"
    }
}
