/// Uses of a stored entry that were recorded in memory since its ``UseStamp`` was written.
package struct RecordedUses: Sendable, Equatable {
    package var count: Int
    /// The position of the last use.
    package var number: Int64

    package init(count: Int, number: Int64) {
        self.count = count
        self.number = number
    }
}
