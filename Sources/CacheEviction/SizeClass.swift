/// The approximate size of an entry, in 6 bits: a quarter of a power of two, from 1 KiB to 45 MiB.
///
/// It differs from the size by at most 9 %. Smaller and larger entries count as the first and the
/// last class.
package struct SizeClass: Sendable, Equatable {
    static let bits = 6
    private static let highest = 1 << bits - 1
    private static let smallestExponent = 10
    /// The first four sizes, and the numbers between quarters of 1 at which the class changes.
    private static let smallest: [Int64] = [1024, 1218, 1448, 1722]
    private static let changes = [1.090_508, 1.296_840, 1.542_211, 1.834_008]

    /// From 1 on.
    let number: Int

    /// - Parameter number: `nil` is returned for 0.
    init?(number: Int64) {
        guard number > 0 else { return nil }
        self.number = min(Int(truncatingIfNeeded: number), Self.highest)
    }

    package init(size: Int64) {
        let size = Double(max(size, 1 << Self.smallestExponent))
        let quarter = Self.changes.count { size.significand >= $0 }
        number = min(4 * (size.exponent - Self.smallestExponent) + quarter + 1, Self.highest)
    }

    package var size: Int64 {
        let (exponent, quarter) = (number - 1).quotientAndRemainder(dividingBy: 4)
        return Self.smallest[quarter] << exponent
    }
}
