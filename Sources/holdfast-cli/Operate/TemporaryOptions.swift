import ArgumentParser
import Foundation
import Holdfast
import HoldfastControl

/// The options of a temporary setting: its end and its reason.
struct TemporaryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End time: 14:00, or 2026-11-25T14:00:00Z.", valueName: "time"))
    var until: String?

    // An error about '-2h' names it.
    @Option(
        name: .customLong("for"),
        parsing: .unconditional,
        help: ArgumentHelp("Duration: 90s, 30m, 2h, 7d.", valueName: "duration")
    )
    var length: String?

    @Option(help: ArgumentHelp("Reason, for the gateway's log and other operators.", valueName: "text"))
    var reason: String?

    /// The help text about these options.
    static let help = """
        '--until' takes a local time of day (its next occurrence) or an RFC 3339 instant. '--for' takes a number with s, m, h or d. The limit is 30 days.
        """

    /// Whether one of the options was given.
    var isAnyNamed: Bool { until ?? length ?? reason != nil }

    /// The end as an RFC 3339 instant, if the option contains an instant.
    var end: String? { until.flatMap(Self.instant).map(EndTime.text) }

    func validate() throws {
        if until != nil, length != nil {
            throw ValidationError("'--until' and '--for' both set the end. Use one of them.")
        }
        if let until, Self.instant(until) == nil {
            throw ValidationError(
                "'--until' must be a time of day (14:00) or an instant that exists (2026-11-25T14:00:00Z), not '\(until)'."
            )
        }
        if let length, EndTime.duration(length) == nil {
            throw ValidationError(
                "'--for' must be a number above 0 with s, m, h or d, such as 90s, 30m, 2h or 7d, not '\(length)'."
            )
        }
    }

    private static func instant(_ text: String) -> Timestamp? {
        EndTime.timeOfDay(text, after: SystemWallClock().now()) ?? EndTime.instant(text)
    }

    /// Returns an instant from a report. If the local time is not UTC, adds the local time in
    /// parentheses.
    static func shown(_ instant: String) -> String {
        guard let end = EndTime.instant(instant) else { return instant }
        let date = Date(timeIntervalSince1970: Double(end.milliseconds) / 1000)
        guard TimeZone.current.secondsFromGMT(for: date) != 0 else { return instant }
        let local = date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .current))
        return "\(instant) (\(local))"
    }
}
