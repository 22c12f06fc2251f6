/// The progress of a transfer: ``CallOptions/onProgress``.
///
/// Progress is reported for each piece, in order within each direction, and never on an event loop.
/// The handler should return quickly, because the transfer waits for it. A retry starts over at
/// zero; a download to a file continues from the received part. Reading content from the store is
/// not a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// The direction of the content.
    public enum Direction: Sendable, Hashable {
        /// To the origin. Bytes are counted when the transport takes them, not when the origin gets
        /// them.
        case upload
        /// From the origin.
        case download
    }

    /// See ``Direction``.
    public var direction: Direction
    /// The number of bytes transferred so far, before content decoding. A resumed download includes
    /// the bytes that it received earlier.
    public var completed: Int64
    /// The total number of bytes, if known. If an origin states more than 2⁵³, this is `nil`.
    public var total: Int64?

    /// The maximum total that is reported. A `Double` represents it exactly, and sums do not
    /// overflow.
    static let largestTotal: Int64 = 1 << 53

    /// Creates a progress value.
    public init(direction: Direction, completed: Int64, total: Int64? = nil) {
        self.direction = direction
        self.completed = completed
        self.total = total
    }

    /// The completed fraction, from 0 to 1; `nil` if the total is unknown.
    public var fraction: Double? {
        guard let total else { return nil }
        return total > 0 ? min(1, Double(completed) / Double(total)) : 1
    }

    typealias Handler = @Sendable (TransferProgress) -> Void
}
