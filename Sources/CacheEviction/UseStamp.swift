/// The position of a stored entry in the order of use, how often it was used, and its approximate
/// size, in one number.
///
/// The number is the column `recency` of the store. It grows with every recorded use, so an index
/// of stamps is in the order of use. The uses and the size are in its low bits, so the index alone
/// shows what an entry is worth, and they are written whenever the order of use is.
///
/// Earlier programs wrote stamps without a size, and before that positions alone. Both are lower
/// than every stamp with a size. To these programs, such a stamp is a later position.
package struct UseStamp: Sendable, Equatable {
    /// The most quarters of a use that a stamp can hold.
    package static let highestQuarters = 15
    private static let useBits = 4
    private static let base: Int64 = 1 << 62
    private static let baseWithoutSize: Int64 = 1 << 48

    /// The position in the order of use; negative if the entry is to be evicted before all others.
    package var number: Int64
    /// The recent uses, in quarters of a use: 0 if the entry was not used since it was stored.
    package var quarters: Int
    /// `nil` if an earlier program wrote the stamp.
    package var size: SizeClass?

    package init(number: Int64, quarters: Int, size: SizeClass?) {
        self.number = number
        self.quarters = min(max(quarters, 0), Self.highestQuarters)
        self.size = size
    }

    /// - Parameter stored: the number in the store. A position alone counts as one use.
    package init(stored: Int64) {
        guard stored >= Self.baseWithoutSize else {
            self.init(number: stored, quarters: 4, size: nil)
            return
        }
        let hasSize = stored >= Self.base
        let value = stored - (hasSize ? Self.base : Self.baseWithoutSize)
        let rest = value >> Self.useBits
        self.init(
            number: hasSize ? rest >> SizeClass.bits : rest,
            quarters: Int(truncatingIfNeeded: value & (1 << Self.useBits - 1)),
            size: hasSize ? SizeClass(number: rest & (1 << SizeClass.bits - 1)) : nil
        )
    }

    /// The number in the store.
    package var stored: Int64 {
        if number < 0 { return number }
        guard let size else { return Self.baseWithoutSize &+ (number &<< Self.useBits | Int64(clamping: quarters)) }
        let low = Int64(clamping: size.number) << Self.useBits | Int64(clamping: quarters)
        return Self.base &+ (number &<< (Self.useBits + SizeClass.bits) | low)
    }

    /// Returns the stamp after some recorded uses.
    package func used(_ uses: RecordedUses) -> UseStamp {
        UseStamp(
            number: max(uses.number, number),
            quarters: quarters + 4 * min(uses.count, Self.highestQuarters),
            size: size
        )
    }

    /// Returns the stamp with the size of its entry.
    package func sized(_ size: Int64) -> UseStamp {
        UseStamp(number: number, quarters: quarters, size: SizeClass(size: size))
    }
}
