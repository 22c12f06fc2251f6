import ArgumentParser
import Foundation
import HTTPCacheOperations
import Holdfast

/// An instant on the command line: ISO 8601, or an offset from now.
struct Instant: ExpressibleByArgument {
    private enum Meaning {
        case absolute(Timestamp)
        case relative(milliseconds: Int64)
    }

    private let meaning: Meaning

    init?(argument: String) {
        if let sign = argument.first, sign == "+" || sign == "-" {
            guard let milliseconds = Self.milliseconds(argument.dropFirst()) else { return nil }
            meaning = .relative(milliseconds: sign == "-" ? -milliseconds : milliseconds)
        } else {
            guard let instant = Timestamp(rfc3339: argument) else { return nil }
            meaning = .absolute(instant)
        }
    }

    func timestamp(now: Timestamp) -> Timestamp {
        switch meaning {
        case .absolute(let instant): instant
        case .relative(let milliseconds): now.adding(milliseconds: milliseconds)
        }
    }

    /// Parses a number and a unit, such as `90s`, `5 m`, `2h`, `7d` or `2w`.
    private static func milliseconds(_ text: Substring) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [String: Int64] = [
            "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
        ]
        guard let number = Int64(digits),
            let unit = units[String(text.dropFirst(digits.count).drop { $0 == " " })]
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow ? nil : product
    }

    /// Formats an instant as ISO 8601 in UTC, with milliseconds if they are not zero.
    static func text(_ instant: Timestamp) -> String {
        // The format supports only these years.
        let seconds = min(max(Double(instant.milliseconds) / 1000, -62_135_596_800), 253_402_300_799.999)
        let style = Date.ISO8601FormatStyle(
            includingFractionalSeconds: instant.milliseconds % 1000 != 0,
            timeZone: .gmt
        )
        return Date(timeIntervalSince1970: seconds).formatted(style)
    }
}
