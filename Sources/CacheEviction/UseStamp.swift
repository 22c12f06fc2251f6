/// The position of a stored entry in the order of use, and how often it was used, in one number.
///
/// The number is the column `recency` of the store. It grows with every recorded use, so an index
/// of stamps is in the order of use. The uses are in its low bits, so they are written whenever the
/// order of use is, and survive a restart. Earlier programs wrote positions alone, which are lower
/// than every stamp. To them, a stamp is a position.
package struct UseStamp: Sendable, Equatable {
    /// The most quarters of a use that a stamp can hold.
    package static let highestQuarters = 15
    private static let base: Int64 = 1 << 48
    private static let bits: Int64 = 4

    /// The position in the order of use; negative if the entry is to be evicted before all others.
    package var number: Int64
    /// The recent uses, in quarters of a use: 0 if the entry was not used since it was stored.
    package var quarters: Int

    package init(number: Int64, quarters: Int) {
        self.number = number
        self.quarters = min(max(quarters, 0), Self.highestQuarters)
    }

    /// - Parameter stored: the number in the store. A position alone counts as one use.
    package init(stored: Int64) {
        guard stored >= Self.base else {
            self.init(number: stored, quarters: 4)
            return
        }
        let value = stored - Self.base
        self.init(number: value >> Self.bits, quarters: Int(truncatingIfNeeded: value & 15))
    }

    /// The number in the store.
    package var stored: Int64 {
        number < 0 ? number : Self.base &+ (number &<< Self.bits | Int64(clamping: quarters))
    }

    /// Returns the stamp after some recorded uses.
    package func used(_ uses: RecordedUses) -> UseStamp {
        UseStamp(number: max(uses.number, number), quarters: quarters + 4 * min(uses.count, Self.highestQuarters))
    }
}
