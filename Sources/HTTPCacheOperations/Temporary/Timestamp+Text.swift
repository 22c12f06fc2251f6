package import HTTPCacheSemantics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Timestamp {
    /// The instant as RFC 3339 text in UTC, with milliseconds only if they are not zero.
    package var rfc3339: String {
        // Clamp to the range of years that the format can express.
        let seconds = min(max(Double(milliseconds) / 1000, -62_135_596_800), 253_402_300_799)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: milliseconds % 1000 != 0, timeZone: .gmt)
        return Date(timeIntervalSince1970: seconds).formatted(style)
    }

    /// Reads RFC 3339 text, such as `2026-11-25T14:00:00Z` or `2026-11-25T15:00:00.250+01:00`.
    /// Fractions of a millisecond are dropped.
    ///
    /// Returns `nil` for other text, and for a day or a time of day that does not exist, such as
    /// November 31 or 25:30. Foundation would read them as another day.
    package init?(rfc3339 text: String) {
        let form =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})/
        guard let parts = text.wholeMatch(of: form)?.output,
            let year = Int64(parts.1), let month = Int64(parts.2), let day = Int64(parts.3),
            let secondOfDay = Self.secondOfDay(parts.4, parts.5, parts.6), let offset = Self.offset(parts.8),
            let instant = CivilDate(year: year, month: month, day: day).timestamp(secondOfDay: secondOfDay)
        else { return nil }
        let digits = (parts.7?.dropFirst() ?? "") + "00"
        self = instant.adding(milliseconds: (Int64(digits.prefix(3)) ?? 0) - offset * 1000)
    }

    /// Returns the seconds since midnight, or `nil` if a day has no such time.
    private static func secondOfDay(_ hour: Substring, _ minute: Substring, _ second: Substring = "00") -> Int64? {
        guard let hour = Int64(hour), hour < 24, let minute = Int64(minute), minute < 60,
            let second = Int64(second), second < 60
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Returns the seconds by which a zone is ahead of UTC: `Z`, `+01:00`, `-0530`.
    private static func offset(_ zone: Substring) -> Int64? {
        guard zone != "Z" else { return 0 }
        return secondOfDay(zone.dropFirst().prefix(2), zone.suffix(2)).map { zone.hasPrefix("-") ? -$0 : $0 }
    }
}
