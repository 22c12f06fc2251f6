/// A number of seconds in a field. RFC 9111 §1.2.2
struct DeltaSeconds: Sendable, Hashable, Comparable {
    /// 0 to 2³¹; larger numbers are clamped.
    var seconds: Int64

    /// The value to which RFC 9111 lets a cache clamp a number that it cannot represent.
    static let maximum = DeltaSeconds(seconds: 2_147_483_648)
    static let zero = DeltaSeconds(seconds: 0)

    var milliseconds: Int64 { seconds * 1000 }

    init(seconds: Int64) { self.seconds = Swift.min(Swift.max(seconds, 0), 2_147_483_648) }

    /// Reads digits only. Returns `nil` for a sign, a fraction, a letter or an empty range.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) {
        guard !range.isEmpty else { return nil }
        var value: Int64 = 0
        for index in range {
            guard bytes[index].isDigit else { return nil }
            // Clamp at each step, so that no number of digits overflows.
            value = Swift.min(value * 10 + Int64(bytes[index] &- 0x30), 2_147_483_648)
        }
        seconds = value
    }

    static func < (lhs: DeltaSeconds, rhs: DeltaSeconds) -> Bool { lhs.seconds < rhs.seconds }
}
