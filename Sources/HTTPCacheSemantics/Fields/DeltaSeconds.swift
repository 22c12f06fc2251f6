/// A number of seconds as fields write it. RFC 9111 §1.2.2
struct DeltaSeconds: Sendable, Hashable, Comparable {
    /// 0 … 2³¹; anything larger was clamped.
    var seconds: Int64

    /// The number to which the RFC lets a cache clamp one that it cannot hold.
    static let maximum = DeltaSeconds(seconds: 2_147_483_648)
    static let zero = DeltaSeconds(seconds: 0)

    var milliseconds: Int64 { seconds * 1000 }

    init(seconds: Int64) { self.seconds = Swift.min(Swift.max(seconds, 0), 2_147_483_648) }

    /// Reads digits only. A sign, a fraction, a letter or an empty range gives `nil`.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, in range: Range<Int>) {
        guard !range.isEmpty else { return nil }
        var value: Int64 = 0
        for index in range {
            guard bytes[index].isDigit else { return nil }
            // Each step clamps, so that no number of digits overflows.
            value = Swift.min(value * 10 + Int64(bytes[index] &- 0x30), 2_147_483_648)
        }
        seconds = value
    }

    static func < (lhs: DeltaSeconds, rhs: DeltaSeconds) -> Bool { lhs.seconds < rhs.seconds }
}
