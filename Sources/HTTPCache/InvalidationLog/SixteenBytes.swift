import HTTPCacheSemantics

/// 128 random bits, written as hexadecimal digits.
package struct SixteenBytes: Sendable, Hashable {
    private var high: UInt64
    private var low: UInt64

    package init(using generator: inout some RandomNumberGenerator) {
        (high, low) = (generator.next(), generator.next())
    }

    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        (high, low) = (0, 0)
        for byte in bytes {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(byte)
        }
    }

    /// Parses 32 lowercase hexadecimal digits.
    package init?(hex digits: some Collection<UInt8>) {
        guard digits.count == 32 else { return nil }
        (high, low) = (0, 0)
        for digit in digits {
            guard let value = digit.hexValue, digit == digit.asciiLowercased else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(value)
        }
    }

    package var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
    }

    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
