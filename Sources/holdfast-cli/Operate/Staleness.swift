import ArgumentParser
import CommandLineSupport
import HTTPCache
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast staleness`, `holdfast staleness 2d --until 14:00`
struct Staleness: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows how stale responses may be while their origin fails, or extends this for a limited time.",
        discussion: """
            With a length, stored responses may be at least that stale while their origin is unreachable or responds with 500, 502, 503 or 504, or while the \
            mode is 'offline'. This raises the limits of rules (stale.offline, stale.unreachable, stale.on-error) and of 'stale-if-error'. It never lowers a limit. It does not raise a limit of 0, \
            and does not override a directive that forbids stale use (such as must-revalidate), or an unsafe request that invalidated the response.

            An extension needs an end. After that time, the configured limits apply again, even if the gateway crashed or restarted in between. A reload does not end an extension. '--configured' ends it early.

            \(TemporaryOptions.help)

            \(GatewayLocation.help)

            JSON: one object, with the keys staleness, seconds, until, since, reason and by.

            The exit status is 0 if the extension is in force, 1 if no gateway can be reached or it rejected the extension, 64 if the command line is invalid.

            Examples:
              holdfast staleness --store feed.store
              holdfast staleness 2d --until 14:00 --reason 'repairing the origin' --config holdfast.yaml
              holdfast staleness 12h --for 2h --socket /run/holdfast/control.sock
              holdfast staleness --configured --config holdfast.yaml
            """
    )

    @Argument(
        help: ArgumentHelp("How stale responses may be: 30m, 12h, 2d. At most 365 days.", valueName: "length")
    )
    var length: String?

    @Flag(help: "Restore the configured limits.")
    var configured = false

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        if configured, length != nil || temporary.isAnyNamed {
            throw ValidationError(
                "'--configured' ends an extension. Omit the length, '--until', '--for' and '--reason'."
            )
        }
        if length == nil, temporary.isAnyNamed {
            throw ValidationError("'--until', '--for' and '--reason' need a length, such as 12h.")
        }
        guard let length else { return }
        guard let staleness = EndTime.duration(length) else {
            throw ValidationError(
                "The length must be a number above 0 with s, m, h or d, such as 30m, 12h or 2d, not '\(length)'."
            )
        }
        guard staleness <= .seconds(StalenessExtension.longest) else {
            throw ValidationError("The length is '\(length)'; the limit is 365 days. Set a shorter time.")
        }
        guard temporary.until != nil || temporary.length != nil else {
            throw ValidationError(
                "A staleness extension needs an end. Set '--until' (2026-11-25T14:00:00Z) or '--for' (2h). For a permanent change, edit the configuration file ('stale.offline', 'stale.unreachable', 'stale.on-error')."
            )
        }
    }

    func run() async throws {
        let gateway = try location.gateway()
        let report: StalenessReport
        if let length {
            let request = StalenessRequest(
                length,
                until: temporary.end,
                for: temporary.length,
                reason: temporary.reason
            )
            report = try await gateway.send(.PUT, "/v1/staleness", request)
        } else if configured {
            report = try await gateway.send(.DELETE, "/v1/staleness", Optional<String>.none)
        } else {
            report = try await gateway.get("/v1/staleness")
        }
        try location.write(report, Self.text)
    }

    /// Returns the limits as one human-readable line.
    static func text(_ report: StalenessReport) -> String {
        guard let until = report.until else { return "The configured staleness limits are in force." }
        let reason = report.reason.map { " Reason: \($0)." } ?? ""
        return "While an origin fails, staleness limits are at least \(report.staleness) "
            + "until \(TemporaryOptions.shown(until)).\(reason)"
    }
}
