import HTTPCacheSemantics

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Formats values for people.
enum Formatting {
    /// Formats a number of bytes with at most four characters and a unit: `512 B`, `2.5 kB`, `64
    /// MB`.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1_000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for next in ["kB", "MB", "GB", "TB", "PB", "EB"] where value >= 999.5 || unit.isEmpty {
            value /= 1_000
            unit = next
        }
        let tenths = Int((value * 10).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(unit)" : "\(Int(value.rounded())) \(unit)"
    }

    /// Formats a duration in its two largest units: `12s`, `3m 20s`, `5h 1m`, `2d 4h`. Durations
    /// shorter than a second are in milliseconds.
    static func duration(milliseconds: Int64) -> String {
        guard milliseconds >= 0 else {
            return "-" + duration(milliseconds: milliseconds == .min ? .max : -milliseconds)
        }
        guard milliseconds >= 1_000 else { return "\(milliseconds)ms" }
        let seconds = milliseconds / 1_000
        let parts = [
            (seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"),
        ]
        let first = parts.firstIndex { $0.0 > 0 } ?? 3
        return parts[first..<min(first + 2, 4)].filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
    }

    /// Formats an instant as ISO 8601 in UTC with milliseconds: `2026-01-01T00:00:00.000Z`. Years
    /// are 1 to 9999.
    static func date(_ timestamp: Timestamp) -> String {
        // The format cannot express other years, and no real entry has one.
        let seconds = min(max(Double(timestamp.milliseconds) / 1_000, -62_135_596_800), 253_402_300_799.999)
        return Date(timeIntervalSince1970: seconds).formatted(.iso8601WithMilliseconds)
    }

    /// Returns text that cannot disturb a terminal: control characters are shown as `\u{…}`.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            result += isControl(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }
    }

    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: true
        // These characters can reverse the following text. The two joiners are harmless, and many
        // scripts need them.
        case .format: scalar != "\u{200C}" && scalar != "\u{200D}"
        default: false
        }
    }

    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    static func aligned(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
    fileprivate static var iso8601WithMilliseconds: Date.ISO8601FormatStyle {
        Date.ISO8601FormatStyle(includingFractionalSeconds: true, timeZone: .gmt)
    }
}
