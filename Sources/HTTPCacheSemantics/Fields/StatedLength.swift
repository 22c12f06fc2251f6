/// A number of bytes that a peer states: how long content is, or where a part of it begins or ends.
///
/// A peer may state any number, so a sum, a product or a narrower integer made of it could end the
/// process. This type has none of them. A number becomes an integer only below a limit
/// (``bytes(upTo:)``, ``capped(at:)-(Int64)``), and the other operations return `nil` where the
/// result does not fit. So the compiler finds each use that comes before the limit.
///
/// ```swift
/// guard let length = stated.bytes(upTo: limits.maximumObject) else { return nil }
/// let bytes = length + head.storedBytes
/// ```
///
/// The numbers are those that `Int64` holds, from 0. RFC 9110 §8.6 and §14.4 set no limit; a field
/// with a larger number is malformed here.
public struct StatedLength: Sendable, Hashable {
    /// 0 … 2⁶³ − 1.
    private let value: Int64

    private init(unchecked value: Int64) { self.value = value }

    /// Makes a number of one that was counted here; a negative one becomes 0.
    public init(clamping count: Int64) { value = max(0, count) }

    /// Makes a number of one that was counted here; a negative one becomes 0.
    public init(clamping count: Int) { value = max(0, Int64(count)) }

    /// Reads `1*DIGIT`; `nil` for all else, and for a number that `Int64` does not hold.
    package init?(digits: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(digits)
        guard let number = scanner.exactNumber(), scanner.isAtEnd else { return nil }
        self = number
    }

    /// Reads `1*DIGIT`; `nil` for all else, and for a number that `Int64` does not hold.
    public init?(digits: some StringProtocol) {
        let bytes = Array(digits.utf8)
        guard let number = bytes.withUnsafeBufferPointer({ StatedLength(digits: $0) }) else { return nil }
        self = number
    }

    /// 2⁶³ − 1.
    public static let maximum = StatedLength(unchecked: .max)

    /// Whether the number is at most a limit.
    public func isWithin(_ limit: Int64) -> Bool { value <= limit }

    /// Whether the number is less than a limit.
    public func isBelow(_ limit: Double) -> Bool { Double(value) < limit }

    /// The number, if it is at most a limit; else `nil`.
    public func bytes(upTo limit: Int64) -> Int64? { value <= limit ? value : nil }

    /// The number, or the limit if that is less.
    public func capped(at limit: Int64) -> Int64 { min(value, limit) }

    /// The number, or the limit if that is less.
    public func capped(at limit: Int) -> Int { Int(truncatingIfNeeded: min(value, Int64(limit))) }

    /// The sum; `nil` if it is more than ``maximum``.
    public func adding(_ other: StatedLength) -> StatedLength? {
        let (sum, overflow) = value.addingReportingOverflow(other.value)
        return overflow ? nil : StatedLength(unchecked: sum)
    }

    /// The sum with a number that was counted here; `nil` if it is more than ``maximum``.
    public func adding(_ count: Int) -> StatedLength? { adding(StatedLength(clamping: count)) }

    /// The difference; `nil` if it is less than 0.
    public func subtracting(_ other: StatedLength) -> StatedLength? {
        // Both are 0 or more: the difference fits.
        value < other.value ? nil : StatedLength(unchecked: value &- other.value)
    }

    /// The difference to a number that was counted here; `nil` if it is less than 0.
    public func subtracting(_ count: Int) -> StatedLength? { subtracting(StatedLength(clamping: count)) }
}

extension StatedLength: Comparable {
    /// Whether the first is less.
    public static func < (lhs: StatedLength, rhs: StatedLength) -> Bool { lhs.value < rhs.value }
}

extension StatedLength: ExpressibleByIntegerLiteral {
    /// A number that is written in the code.
    public init(integerLiteral value: UInt32) { self.value = Int64(value) }
}

extension StatedLength: CustomStringConvertible {
    /// The number as fields write it.
    public var description: String { String(value) }
}

extension StatedLength: Codable {
    /// Reads an integer; a negative one is an error.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let value = try container.decode(Int64.self)
        guard value >= 0 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "A length must not be negative.")
        }
        self.value = value
    }

    /// Writes an integer.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension Range<StatedLength> {
    /// How many bytes the range has.
    public var length: StatedLength { upperBound.subtracting(lowerBound) ?? 0 }

    /// The range as integers, if its end is at most a limit; else `nil`.
    public func bytes(upTo limit: Int64) -> Range<Int64>? {
        guard let upper = upperBound.bytes(upTo: limit) else { return nil }
        return lowerBound.capped(at: upper)..<upper
    }

    /// The range counted from an offset before it; `nil` if it begins before that.
    public func counted(from offset: StatedLength) -> Range<StatedLength>? {
        guard let lower = lowerBound.subtracting(offset), let upper = upperBound.subtracting(offset) else { return nil }
        return Range(from: lower, to: upper)
    }

    /// The range between two numbers; empty where the second is less.
    package init(from lower: StatedLength, to upper: StatedLength) { self = lower..<Swift.max(lower, upper) }
}

extension ByteScanner {
    /// Reads the digits that begin here as a number; `nil` if there are none or the number exceeds
    /// `Int64`.
    mutating func exactNumber() -> StatedLength? {
        guard let (value, isExact) = number(), isExact else { return nil }
        return value
    }

    /// Reads the digits that begin here as a number, clamped to `Int64`; `nil` if there are none.
    mutating func clampedNumber() -> StatedLength? { number()?.value }

    private mutating func number() -> (value: StatedLength, isExact: Bool)? {
        let start = position
        var value: Int64 = 0
        var isExact = true
        while let byte = current, byte.isDigit {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int64(byte &- 0x30))
            if overflow || carried { isExact = false }
            value = isExact ? sum : .max
            advance()
        }
        return position == start ? nil : (StatedLength(clamping: value), isExact)
    }
}
