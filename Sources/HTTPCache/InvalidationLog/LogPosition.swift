/// The position of an entry in a fleet log: `<epoch>-<number>`.
///
/// Numbers within an epoch are consecutive, and the epoch's marker has number 1. Epochs increase:
/// each server that starts to serve the log begins a new epoch.
///
/// In the log of an honest server, the epoch and the number are below 2⁶³. A store does not keep
/// other positions.
package struct LogPosition: Sendable, Hashable, Comparable, CustomStringConvertible {
    package var epoch: UInt64
    package var number: UInt64

    package init(epoch: UInt64, number: UInt64) {
        self.epoch = epoch
        self.number = number
    }

    /// The position before every entry.
    package static let zero = LogPosition(epoch: 0, number: 0)

    package static func < (left: Self, right: Self) -> Bool {
        (left.epoch, left.number) < (right.epoch, right.number)
    }

    /// The position after this one, if the epoch continues.
    package var next: LogPosition { LogPosition(epoch: epoch, number: number &+ 1) }
    /// The position before this one in its epoch.
    package var previous: LogPosition { LogPosition(epoch: epoch, number: number &- 1) }

    /// Parses two decimal numbers without leading zeros; returns `nil` for any other text.
    package init?(_ text: String) {
        let digits = text.utf8
        guard let hyphen = digits.firstIndex(of: UInt8(ascii: "-")), let epoch = Self.number(digits[..<hyphen]),
            let number = Self.number(digits[digits.index(after: hyphen)...])
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    package var description: String { "\(epoch)-\(number)" }

    /// Parses a decimal number. Accepts only the form that a log writes, because each position must
    /// have exactly one text.
    @inlinable package static func number(_ digits: some Collection<UInt8>) -> UInt64? {
        guard digits.first != UInt8(ascii: "0") || digits.count == 1, !digits.isEmpty, digits.count <= 20 else {
            return nil
        }
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLargeToo) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            guard !isTooLarge, !isTooLargeToo else { return nil }
            value = sum
        }
        return value
    }
}
