/// A number of bytes that a peer states: the length of content, or a range boundary.
///
/// A peer can state any number, so computing a sum, a product or a narrower integer from it could
/// trap. This type has no such operations. A number becomes an integer only below a limit
/// (``bytes(upTo:)``, `capped(at:)`), and the other operations return `nil` if the result
/// does not fit. The compiler therefore finds every use of an unchecked number.
///
/// ```swift
/// guard let length = stated.bytes(upTo: limits.maximumObject) else { return nil }
/// let bytes = length + head.storedBytes
/// ```
///
/// The range is that of `Int64`, from 0. RFC 9110 §8.6 and §14.4 set no limit; here, a field with a
/// larger number is malformed.
public struct StatedLength: Sendable, Hashable {
    /// 0 to 2⁶³ − 1.
    private let value: Int64

    private init(unchecked value: Int64) { self.value = value }

    /// Creates a number from a local count. A negative count becomes 0.
    public init(clamping count: Int64) { value = max(0, count) }

    /// Creates a number from a local count. A negative count becomes 0.
    public init(clamping count: Int) { value = max(0, Int64(count)) }

    /// Parses `1*DIGIT`. Returns `nil` for any other text, and for a number that `Int64` cannot
    /// hold.
    package init?(digits: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(digits)
        guard let number = scanner.exactNumber(), scanner.isAtEnd else { return nil }
        self = number
    }

    /// Parses `1*DIGIT`. Returns `nil` for any other text, and for a number that `Int64` cannot
    /// hold.
    public init?(digits: some StringProtocol) {
        let bytes = Array(digits.utf8)
        guard let number = bytes.withUnsafeBufferPointer({ StatedLength(digits: $0) }) else { return nil }
        self = number
    }

    /// 2⁶³ − 1.
    package static let maximum = StatedLength(unchecked: .max)

    /// Returns whether the number is at most the limit.
    public func isWithin(_ limit: Int64) -> Bool { value <= limit }

    /// Returns whether the number is below the limit.
    package func isBelow(_ limit: Double) -> Bool { Double(value) < limit }

    /// Returns the number if it is at most the limit; otherwise `nil`.
    public func bytes(upTo limit: Int64) -> Int64? { value <= limit ? value : nil }

    /// Returns the number or the limit, whichever is less.
    package func capped(at limit: Int64) -> Int64 { min(value, limit) }

    /// Returns the number or the limit, whichever is less.
    package func capped(at limit: Int) -> Int { Int(truncatingIfNeeded: min(value, Int64(limit))) }

    /// Returns the sum, or `nil` if it exceeds ``maximum``.
    package func adding(_ other: StatedLength) -> StatedLength? {
        let (sum, overflow) = value.addingReportingOverflow(other.value)
        return overflow ? nil : StatedLength(unchecked: sum)
    }

    /// Returns the sum with a local count, or `nil` if it exceeds ``maximum``.
    package func adding(_ count: Int) -> StatedLength? { adding(StatedLength(clamping: count)) }

    /// Returns the difference, or `nil` if it is below 0.
    package func subtracting(_ other: StatedLength) -> StatedLength? {
        // Both numbers are at least 0, so the difference fits.
        value < other.value ? nil : StatedLength(unchecked: value &- other.value)
    }

    /// Returns the difference from a local count, or `nil` if it is below 0.
    package func subtracting(_ count: Int) -> StatedLength? { subtracting(StatedLength(clamping: count)) }
}

extension StatedLength: Comparable {
    /// Returns whether the left number is less than the right number.
    public static func < (lhs: StatedLength, rhs: StatedLength) -> Bool { lhs.value < rhs.value }
}

extension StatedLength: ExpressibleByIntegerLiteral {
    /// Creates a number from a literal.
    public init(integerLiteral value: UInt32) { self.value = Int64(value) }
}

extension StatedLength: CustomStringConvertible {
    /// The number as written in a field.
    public var description: String { String(value) }
}

extension StatedLength: Codable {
    /// Decodes an integer. Throws an error if it is negative.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let value = try container.decode(Int64.self)
        guard value >= 0 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "A length must not be negative.")
        }
        self.value = value
    }

    /// Encodes an integer.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension Range<StatedLength> {
    /// The number of bytes in the range.
    package var length: StatedLength { upperBound.subtracting(lowerBound) ?? 0 }

    /// Returns the range as integers if its end is at most the limit; otherwise `nil`.
    package func bytes(upTo limit: Int64) -> Range<Int64>? {
        guard let upper = upperBound.bytes(upTo: limit) else { return nil }
        return lowerBound.capped(at: upper)..<upper
    }

    /// Returns the range relative to an offset, or `nil` if the range begins before the offset.
    package func counted(from offset: StatedLength) -> Range<StatedLength>? {
        guard let lower = lowerBound.subtracting(offset), let upper = upperBound.subtracting(offset) else { return nil }
        return Range(from: lower, to: upper)
    }

    /// Creates the range between two numbers. It is empty if the second number is less than the
    /// first.
    package init(from lower: StatedLength, to upper: StatedLength) { self = lower..<Swift.max(lower, upper) }
}

extension ByteScanner {
    /// Reads the digits at the cursor as a number. Returns `nil` if there are none or the number
    /// exceeds `Int64`.
    mutating func exactNumber() -> StatedLength? {
        guard let (value, isExact) = number(), isExact else { return nil }
        return value
    }

    /// Reads the digits at the cursor as a number, clamped to `Int64`. Returns `nil` if there are
    /// none.
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
