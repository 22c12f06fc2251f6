import ArgumentParser
import CommandLineSupport
import Foundation
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

            '--until' takes a time of day here (the next such moment), or an instant by RFC 3339. '--for' takes a number with s, m, h or d. At most 30 days.

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

    @Option(help: ArgumentHelp("The end: 14:00, or 2026-11-25T14:00:00Z.", valueName: "time"))
    var until: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("The length: 90s, 30m, 2h, 7d.", valueName: "duration"))
    var length: String?

    @Option(help: ArgumentHelp("A text for the gateway's log and for other operators.", valueName: "text"))
    var reason: String?

    @OptionGroup var place: GatewayPlace

    func validate() throws {
        if mode == nil, until ?? length ?? reason != nil {
            throw ValidationError("Name a mode, or neither '--until' nor '--for' nor '--reason'.")
        }
        if until != nil, length != nil {
            throw ValidationError("'--until' and '--for' both name an end: name one of them.")
        }
        if let until, end(until) == nil {
            throw ValidationError(
                "'--until' is '\(until)'; a time of day (14:00) or an instant (2026-11-25T14:00:00Z) is expected."
            )
        }
        if let length, EndTime.duration(length) == nil {
            throw ValidationError("'--for' is '\(length)'; a number with s, m, h or d is expected: 90s, 30m, 2h, 7d.")
        }
    }

    func run() async throws {
        let gateway = try place.gateway()
        let report: ModeReport
        if let mode {
            let end = until.flatMap(end).map(EndTime.text)
            let request = ModeRequest(mode.offlineMode, until: end, for: length, reason: reason)
            report = try await gateway.send(.PUT, "/v1/mode", request)
        } else {
            report = try await gateway.get("/v1/mode")
        }
        try place.write(report, Self.text)
    }

    private func end(_ text: String) -> Timestamp? {
        EndTime.timeOfDay(text, after: SystemWallClock().now()) ?? EndTime.instant(text)
    }

    /// One line for people.
    static func text(_ report: ModeReport) -> String {
        guard let until = report.until else { return "The mode is \(report.mode.rawValue)." }
        let reason = report.reason.map { " Reason: \($0)." } ?? ""
        let end = "until \(until)\(local(until)), then \(report.configured.rawValue)"
        return "The mode is \(report.mode.rawValue) \(end).\(reason)"
    }

    /// An instant in the time of this machine, in brackets; empty if that is UTC.
    private static func local(_ instant: String) -> String {
        guard let end = EndTime.instant(instant) else { return "" }
        let date = Date(timeIntervalSince1970: Double(end.milliseconds) / 1000)
        guard TimeZone.current.secondsFromGMT(for: date) != 0 else { return "" }
        return " (\(date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .current))))"
    }
}
