import ArgumentParser
import Foundation
import Holdfast
import HoldfastControl

/// The options of what is set for a time: its end and its reason.
struct TemporaryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The end: 14:00, or 2026-11-25T14:00:00Z.", valueName: "time"))
    var until: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("The length: 90s, 30m, 2h, 7d.", valueName: "duration"))
    var length: String?

    @Option(help: ArgumentHelp("A text for the gateway's log and for other operators.", valueName: "text"))
    var reason: String?

    /// The paragraph of a command's help on these options.
    static let help = """
        '--until' takes a time of day here (the next such moment), or an instant by RFC 3339. '--for' takes a number with s, m, h or d. At most 30 days.
        """

    /// Whether one of them is named.
    var isAnyNamed: Bool { until ?? length ?? reason != nil }

    /// The end by RFC 3339, if an instant is named.
    var end: String? { until.flatMap(Self.instant).map(EndTime.text) }

    func validate() throws {
        if until != nil, length != nil {
            throw ValidationError("'--until' and '--for' both name an end: name one of them.")
        }
        if let until, Self.instant(until) == nil {
            throw ValidationError(
                "'--until' is '\(until)'; a time of day (14:00) or an instant (2026-11-25T14:00:00Z) is expected."
            )
        }
        if let length, EndTime.duration(length) == nil {
            throw ValidationError("'--for' is '\(length)'; a number with s, m, h or d is expected: 90s, 30m, 2h, 7d.")
        }
    }

    private static func instant(_ text: String) -> Timestamp? {
        EndTime.timeOfDay(text, after: SystemWallClock().now()) ?? EndTime.instant(text)
    }

    /// An instant of a report, with the time of this machine in brackets unless that is UTC.
    static func shown(_ instant: String) -> String {
        guard let end = EndTime.instant(instant) else { return instant }
        let date = Date(timeIntervalSince1970: Double(end.milliseconds) / 1000)
        guard TimeZone.current.secondsFromGMT(for: date) != 0 else { return instant }
        let local = date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .current))
        return "\(instant) (\(local))"
    }
}
