import HTTPCacheSemantics

/// Reads and writes numbers with units. A value that is not a whole multiple of the smallest unit
/// is rejected, so no value is rounded.
package enum Quantity {
    package static let durationUnits: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000),
    ]
    package static let sizeUnits: [(name: String, bytes: Int64)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("kB", 1000),
        ("MB", 1_000_000), ("GB", 1_000_000_000),
    ]
    /// The maximum duration, in milliseconds: a hundred years. This is longer than any sensible
    /// value, and short enough to be added to any timestamp.
    private static let longest: Int64 = 36_525 * 86_400_000
    /// The maximum size, in bytes: 1 PiB. This is larger than any disk. Sums of several sizes, and
    /// products with small numbers, do not overflow.
    package static let largest: Int64 = 1 << 50

    /// - Parameter word: a word that is also accepted, for messages.
    package static func duration(_ text: String, or word: String? = nil) throws(Refusal) -> Duration {
        let units = "ms, s, m, h, d or w"
        let milliseconds = try amount(
            text,
            durationUnits.map { ($0.name, $0.milliseconds) },
            units: units,
            example: "s",
            forms: "'90 m' or '1.5 h'",
            word: word
        )
        guard milliseconds <= longest else { throw Refusal("\(shown(text)) is too long. The limit is 36525 d.") }
        return .milliseconds(milliseconds)
    }

    package static func size(_ text: String) throws(Refusal) -> Int64 {
        let units = "B, KiB, MiB, GiB, TiB, kB, MB or GB"
        let bytes = try amount(
            text,
            sizeUnits.map { ($0.name, $0.bytes) },
            units: units,
            example: "MiB",
            forms: "'512 MiB' or '1.5 GiB'"
        )
        guard bytes <= largest else { throw Refusal("\(shown(text)) is too large. The limit is 1024 TiB.") }
        return bytes
    }

    package static func written(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        if milliseconds == 0 { return "0 s" }
        // Weeks are not used, because '52 w' is hard to recognize as a year.
        let unit = durationUnits.dropLast().last { milliseconds % $0.milliseconds == 0 } ?? durationUnits[0]
        return "\(milliseconds / unit.milliseconds) \(unit.name)"
    }

    package static func written(bytes: Int64) -> String {
        let unit = sizeUnits.prefix(5).last { bytes != 0 && bytes % $0.bytes == 0 } ?? sizeUnits[0]
        return "\(bytes / unit.bytes) \(unit.name)"
    }

    /// Reads digits, optionally with a decimal point, followed by a unit.
    private static func amount(
        _ text: String,
        _ known: [(name: String, factor: Int64)],
        units: String,
        example: String,
        forms: String,
        word: String? = nil
    ) throws(Refusal) -> Int64 {
        let bytes = Array(text.utf8)
        let number = bytes.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
        let unit = String(decoding: bytes.dropFirst(number.count).drop { $0 == 0x20 }, as: UTF8.self)
        let parts = number.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }), number.count <= 24 else {
            let hint =
                number.isEmpty && bytes.count > 1 && bytes[0] == UInt8(ascii: "-") ? " that is not negative" : ""
            let other = word.map { ", or '\($0)'" } ?? ""
            throw Refusal("\(shown(text)) is not a number with a unit (\(units))\(hint), as in '5 \(example)'\(other).")
        }
        let digits = String(decoding: number, as: UTF8.self)
        if unit.isEmpty { throw Refusal("'\(digits)' has no unit. Add one (\(units)), as in '\(digits) \(example)'.") }
        guard let factor = known.first(where: { $0.name == unit })?.factor else {
            guard !unit.utf8.contains(where: \.isDigit) else {
                throw Refusal("\(shown(text)) is not one number and one unit, such as \(forms).")
            }
            throw Refusal("\(shown(text)) has an unknown unit. Use \(units).")
        }
        var value: Int64 = 0
        var divisor: Int64 = 1
        for (index, part) in parts.enumerated() {
            for digit in part {
                let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
                let (sum, carried) = tens.addingReportingOverflow(Int64(digit &- 0x30))
                guard !overflow, !carried, divisor < 1_000_000_000 else {
                    throw Refusal("\(shown(text)) is too large.")
                }
                value = sum
                if index == 1 { divisor *= 10 }
            }
        }
        let (product, overflow) = value.multipliedReportingOverflow(by: factor)
        guard !overflow else { throw Refusal("\(shown(text)) is too large.") }
        guard product % divisor == 0 else {
            throw Refusal("\(shown(text)) is not a whole number of \(known[0].name).")
        }
        return product / divisor
    }
}
