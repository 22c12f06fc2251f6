package import Foundation
import HTTPCacheOperations
package import HTTPCacheSemantics

/// Parses the end of a temporary setting, and formats times.
package enum EndTime {
    /// The maximum length of a temporary setting: 30 days. A setting that must last longer belongs
    /// in the configuration.
    package static let longest = Duration.seconds(30 * 86_400)

    /// Parses an RFC 3339 time, such as `2026-11-25T14:00:00Z` or `2026-11-25T15:00:00+01:00`.
    /// Returns `nil` if the text is not valid, or if there is no such day or time of day.
    package static func instant(_ text: String) -> Timestamp? { Timestamp(rfc3339: text) }

    /// Parses a number and a unit, with or without a space between them: `90s`, `30 m`, `2h`, `7d`.
    /// Returns `nil` if the text is not valid, or if the number is zero.
    package static func duration(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [String: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let number = Int64(digits), number > 0,
            let unit = units[String(text.dropFirst(digits.count).drop { $0 == " " })]
        else { return nil }
        let (seconds, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow ? nil : .seconds(seconds)
    }

    /// Returns the next time at which a wall clock shows a time of day: `14:00`, `14:00:30`.
    /// Returns `nil` if the text is not valid.
    ///
    /// If the clock skips that time of day, the result is the first moment after the gap.
    package static func timeOfDay(_ text: String, after now: Timestamp, in zone: TimeZone = .current) -> Timestamp? {
        guard let match = text.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?/),
            let hour = Int(match.1), let minute = Int(match.2), hour < 24, minute < 60
        else { return nil }
        let second = match.3.flatMap { Int($0) } ?? 0
        guard second < 60 else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let next = calendar.nextDate(
            after: Date(timeIntervalSince1970: Double(now.milliseconds) / 1000),
            matching: DateComponents(hour: hour, minute: minute, second: second),
            matchingPolicy: .nextTime
        )
        return next.flatMap(timestamp)
    }

    /// Formats a time as RFC 3339 text in UTC, with milliseconds only if they are not zero.
    package static func text(_ instant: Timestamp) -> String { instant.rfc3339 }

    /// Formats a duration in a form that ``duration(_:)`` can parse, in the largest unit that
    /// leaves no remainder: `2d`, `36h`.
    static func text(seconds: Int64) -> String {
        guard seconds > 0 else { return "\(seconds)s" }
        if seconds % 86_400 == 0 { return "\(seconds / 86_400)d" }
        if seconds % 3600 == 0 { return "\(seconds / 3600)h" }
        return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
    }

    /// Converts a date to a timestamp. Returns `nil` if the date does not fit.
    private static func timestamp(_ date: Date) -> Timestamp? {
        Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded()).map { Timestamp(milliseconds: $0) }
    }
}
