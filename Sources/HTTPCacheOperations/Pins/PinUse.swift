/// The space that pinned entries use in a store.
package struct PinUse: Sendable, Hashable, Codable {
    /// The number of pinned entries: responses, and objects of a program that also uses the store.
    package var entries: Int
    /// The space that they use, in bytes.
    package var bytes: Int64
    /// The maximum number of bytes that operators may pin. Rules and programs may pin more.
    package var limit: Int64

    /// Creates a space report.
    package init(entries: Int, bytes: Int64, limit: Int64) {
        self.entries = entries
        self.bytes = bytes
        self.limit = limit
    }
}

/// The error if pins are rejected because they would use too much of the store's budget. Nothing
/// was changed.
package struct PinsExceedBudget: Error, Sendable, Hashable, CustomStringConvertible {
    /// The space that pins currently use.
    package var use: PinUse
    /// The approximate number of bytes that would be added.
    package var additional: Int64

    /// Creates the error.
    package init(use: PinUse, additional: Int64) {
        self.use = use
        self.additional = additional
    }

    /// A sentence for people, with the limit and the next step.
    package var description: String {
        "The pins would take about \(use.bytes + additional) bytes. The limit is \(use.limit), half of the store's "
            + "budget. Select fewer responses, unpin some, or raise 'store.budget'."
    }
}
