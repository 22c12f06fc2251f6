/// How far a transfer has come: ``CallOptions/onProgress``.
///
/// It is told of each piece, in order for each direction, and never on an event loop; whoever hears
/// of it should be quick, because the transfer waits. A request that is sent again begins anew.
/// What the store answers is no transfer.
public struct TransferProgress: Sendable, Hashable {
    /// Which way the content goes.
    public enum Direction: Sendable, Hashable {
        /// To the origin: counted when the transport takes it, not when it arrives.
        case upload
        /// From the origin.
        case download
    }

    /// See ``Direction``.
    public var direction: Direction
    /// Bytes so far, as they are on the wire: with their content coding.
    public var completed: Int64
    /// Bytes in all, where that is known.
    public var total: Int64?

    /// A state of a transfer.
    public init(direction: Direction, completed: Int64, total: Int64? = nil) {
        self.direction = direction
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1; `nil` where the total is not known.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }

    typealias Handler = @Sendable (TransferProgress) -> Void
}
