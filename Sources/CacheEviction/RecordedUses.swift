/// Uses of a stored entry that were recorded in memory since its ``UseStamp`` was written.
package struct RecordedUses: Sendable, Equatable {
    package var count: Int
    /// The position of the last use.
    package var number: Int64
    /// Whether the record may be dropped soon, so the uses should be written.
    package var isExpiring: Bool

    package init(count: Int, number: Int64, isExpiring: Bool = false) {
        self.count = count
        self.number = number
        self.isExpiring = isExpiring
    }
}
