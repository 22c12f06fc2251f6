/// The space that pinned entries take in a store.
public struct PinUse: Sendable, Hashable, Codable {
    /// The number of pinned entries: responses, and objects of a program that uses the store too.
    public var entries: Int
    /// The bytes they take.
    public var bytes: Int64
    /// The most bytes that operators may pin. Rules and programs may pin more.
    public var limit: Int64

    /// The space of some entries.
    public init(entries: Int, bytes: Int64, limit: Int64) {
        self.entries = entries
        self.bytes = bytes
        self.limit = limit
    }
}

/// Pins were rejected, because they would take too much of the store's budget. Nothing has changed.
public struct PinsExceedBudget: Error, Sendable, Hashable, CustomStringConvertible {
    /// The space that pins take now.
    public var use: PinUse
    /// The bytes that would be added, about.
    public var additional: Int64

    /// A rejection.
    public init(use: PinUse, additional: Int64) {
        self.use = use
        self.additional = additional
    }

    /// A sentence for people, with the limit and what to do.
    public var description: String {
        "The pins would take about \(use.bytes + additional) bytes. The limit is \(use.limit), half of the store's "
            + "budget. Select fewer responses, unpin some, or raise 'store.budget'."
    }
}
