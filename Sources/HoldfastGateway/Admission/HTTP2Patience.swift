import NIOCore

/// Limits frames that cost work without advancing any request: pings, settings, empty DATA, resets,
/// windows that open byte by byte. It reads no clock: the caller passes the time.
///
/// A connection has a budget of points. Such frames use it up. Time refills it, as does content
/// that the client reads. RFC 9113 §10.5
struct HTTP2Patience {
    /// The maximum number of points.
    static let limit = 1000
    /// The number of points earned per second.
    static let rate = 100

    private var stock = HTTP2Patience.limit
    private var filled: NIODeadline

    init(at now: NIODeadline) { filled = now }

    /// A client's actions that cost points.
    enum Cost {
        case frame
        /// A request that was started and not finished, so the work for it was wasted.
        case reset
        /// Fields that are too large, and the number of bytes that were decoded before they were
        /// rejected. Header compression can turn one byte into thousands.
        case fields(Int)

        var points: Int {
            switch self {
            case .frame: 1
            case .reset: 5
            case .fields(let bytes): 5 + bytes / HTTP2Patience.decoded
            }
        }
    }

    /// The number of decoded bytes that cost one point: 4 KiB
    private static let decoded = 4 << 10

    /// Spends points.
    ///
    /// - Returns: whether any points are left.
    mutating func spend(_ cost: Cost, at now: NIODeadline) -> Bool {
        if stock < Self.limit {
            let points = (now - filled).nanoseconds / (1_000_000_000 / Int64(Self.rate))
            if points > 0 {
                stock = min(stock + Int(min(points, Int64(Self.limit))), Self.limit)
                filled = now
            }
        } else {
            filled = now
        }
        stock -= cost.points
        return stock > 0
    }

    /// Earns points for a DATA frame that was sent. The client may answer with updates of two
    /// windows, and occasionally a third.
    mutating func earn() { stock = min(stock + 3, Self.limit) }
}
