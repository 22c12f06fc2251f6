/// The progress of a transfer: ``CallOptions/onProgress``.
///
/// It is reported for each piece, in order for each direction, and never on an event loop. The
/// handler should be quick, because the transfer waits for it. A request that is sent again starts
/// again from zero. Content from the store is not a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The direction of the content.
    public enum Direction: Sendable, Hashable {
        /// To the origin. Bytes are counted when the transport takes them, not when they arrive.
        case upload
        /// From the origin.
        case download
    }

    /// See ``Direction``.
    public var direction: Direction
    /// Bytes so far as transferred, that is, with their content coding.
    public var completed: Int64
    /// Bytes in total, if known. An origin that states more than 2⁵³ is not believed: `nil`.
    public var total: Int64?

    /// The largest total that is reported. A `Double` holds it exactly, and sums of it fit.
    static let largestTotal: Int64 = 1 << 53

    /// Creates a state of a transfer.
    public init(direction: Direction, completed: Int64, total: Int64? = nil) {
        self.direction = direction
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1; `nil` if the total is unknown.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }

    typealias Handler = @Sendable (TransferProgress) -> Void
}
