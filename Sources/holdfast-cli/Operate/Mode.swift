import ArgumentParser
import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast mode`, `holdfast mode offline --until 14:00`
struct Mode: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows or sets the mode of a gateway, or of one of its origins or routes, until a given time.",
        discussion: """
            Without an argument, prints the current mode. A mode other than the configured mode needs an end. After that time, the configured mode applies again, even if the gateway crashed or \
            restarted in between. A reload does not end the switch. To end it early, set the configured mode without an end.

            \(TemporaryOptions.help)

            '--of-origin' or '--of-route' switches the mode of only one origin or route, in the same way. To end such a switch early, set the configured mode without an end. Of all modes that apply to a request \
            (the gateway's, its origin's, its route's, and its rules'), the strictest wins: offline, then preferStored, automatic, online. At most \(Switches.limit) such switches can be in force.

            The new mode applies from the next request. Modes of routes and rules can narrow it, as they narrow the configured mode.

            \(GatewayLocation.help)

            JSON: one object, with the keys mode, configured, until, since, reason and by; and switches, a list of objects with the keys origin or route, mode, until, since, reason, by and noEffect (why it has no effect, if a reload removed the origin or route, or the gateway's mode is stricter).

            The exit status is 0 if the mode is in force, 1 if no gateway can be reached or it rejected the mode, 64 if the command line is invalid.

            Examples:
              holdfast mode --store feed.store
              holdfast mode offline --until 14:00 --reason 'origin migration' --config holdfast.yaml
              holdfast mode preferStored --for 2h --socket /run/holdfast/control.sock
              holdfast mode automatic --config holdfast.yaml
              holdfast mode offline --of-origin https://api.example.com --for 30m --reason 'database move' --config holdfast.yaml
              holdfast mode automatic --of-origin https://api.example.com --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("online, automatic, preferStored or offline.", valueName: "mode"))
    var mode: Serve.Mode?

    @Option(
        name: .customLong("of-origin"),
        help: ArgumentHelp("Only for this origin, such as https://api.example.com.", valueName: "url")
    )
    var origin: String?

    @Option(name: .customLong("of-route"), help: ArgumentHelp("Only for the route with this name.", valueName: "name"))
    var route: String?

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        if mode == nil, temporary.isAnyNamed || origin != nil || route != nil {
            throw ValidationError(
                "'--of-origin', '--of-route', '--until', '--for' and '--reason' need a mode: online, automatic, preferStored or offline."
            )
        }
        if origin != nil, route != nil {
            throw ValidationError("'--of-origin' and '--of-route' both name what is switched. Use one of them.")
        }
    }

    func run() async throws {
        let gateway = try location.gateway()
        let report: ModeReport
        if let mode {
            let request = ModeRequest(
                mode.offlineMode,
                origin: origin,
                route: route,
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

    /// Returns human-readable lines: the gateway's mode, then those of origins and routes.
    static func text(_ report: ModeReport) -> String {
        ([line(report)] + (report.switches ?? []).map(line)).joined(separator: "\n")
    }

    /// Returns the gateway's mode with its end, without a full stop: `automatic`.
    static func words(_ report: ModeReport) -> String {
        guard let until = report.until else { return report.mode.rawValue }
        return
            "\(report.mode.rawValue) until \(TemporaryOptions.shown(until)), then \(report.configured.rawValue)"
    }

    /// Returns the mode of an origin or a route with its end: `offline for route 'a' until …`.
    static func words(_ one: SwitchReport) -> String {
        "\(one.mode?.rawValue ?? "") for \(subject(one)) until \(TemporaryOptions.shown(one.until))"
            + (one.noEffect.map { ", without effect: \($0)" } ?? "")
    }

    private static func subject(_ one: SwitchReport) -> String {
        one.origin ?? one.route.map { "route '\($0)'" } ?? ""
    }

    private static func line(_ one: SwitchReport) -> String {
        let mode = one.mode?.rawValue ?? ""
        return
            "The mode of \(subject(one)) is \(mode) until \(TemporaryOptions.shown(one.until)).\(reason(one.reason))"
            + (one.noEffect.map { " It has no effect: \($0)." } ?? "")
    }

    private static func line(_ report: ModeReport) -> String {
        "The mode is \(words(report)).\(reason(report.reason))"
    }

    private static func reason(_ reason: String?) -> String { reason.map { " Reason: \($0)." } ?? "" }
}
