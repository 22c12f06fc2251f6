import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast staleness`, `holdfast staleness 2d --until 14:00`
struct Staleness: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows or extends, with an end, how stale responses may be while their origin fails.",
        discussion: """
            With a length, every stored response may be at least as stale as that while its origin is unreachable or responds with 500, 502, 503 or 504, or in the \
            mode 'offline'. It raises the limits of rules (stale.offline, stale.normal, stale.on-error) and 'stale-if-error', and lowers none. A limit of 0 stays, \
            and so does what forbids stale use: must-revalidate, proxy-revalidate, no-cache, s-maxage.

            An extension needs an end. It ends by itself, also after a crash and a restart; a reload does not end it. '--configured' ends it earlier.

            \(TemporaryOptions.help)

            \(GatewayPlace.help)

            JSON: one object, with the keys staleness, seconds, until, since, reason and by.

            The exit status is 0 if the extension is in force, 1 if no gateway can be asked or it rejected the extension, 64 if the command line is wrong.

            Examples:
              holdfast staleness --store feed.store
              holdfast staleness 2d --until 14:00 --reason 'the origin is being mended' --config holdfast.yaml
              holdfast staleness 12h --for 2h --socket /run/holdfast/control.sock
              holdfast staleness --configured --config holdfast.yaml
            """
    )

    @Argument(
        help: ArgumentHelp("How stale responses may at least be: 30m, 12h, 2d. At most 365 days.", valueName: "length")
    )
    var length: String?

    @Flag(help: "Put the configured limits into force again.")
    var configured = false

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var place: GatewayPlace

    func validate() throws {
        if configured, length != nil || temporary.isAnyNamed {
            throw ValidationError("'--configured' ends an extension: name neither a length nor its end with it.")
        }
        if length == nil, temporary.isAnyNamed {
            throw ValidationError("Name a length, or neither '--until' nor '--for' nor '--reason'.")
        }
        if let length, EndTime.duration(length) == nil {
            throw ValidationError("The length is '\(length)'; a number with s, m, h or d is expected: 30m, 12h, 2d.")
        }
    }

    func run() async throws {
        let gateway = try place.gateway()
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
        try place.write(report, Self.text)
    }

    /// One line for people.
    static func text(_ report: StalenessReport) -> String {
        guard let until = report.until else { return "The configured limits of staleness are in force." }
        let reason = report.reason.map { " Reason: \($0)." } ?? ""
        return "While an origin fails, responses may be \(report.staleness) stale at least, "
            + "until \(TemporaryOptions.shown(until)).\(reason)"
    }
}
