import NIOCore

/// The patience with a client whose frames cost work and bring no request further: pings, settings,
/// empty DATA, resets, windows that open byte by byte. Time is a parameter.
///
/// A connection has a stock of points. Such frames use it up, time and content that the client
/// reads fill it again. RFC 9113 §10.5
struct HTTP2Patience {
    /// The most points.
    static let limit = 1000
    /// Points in a second.
    static let rate = 100

    private var stock = HTTP2Patience.limit
    private var filled: NIODeadline

    init(at now: NIODeadline) { filled = now }

    /// The deeds of a client, and their points.
    enum Cost {
        case frame
        /// A request that was begun and is not finished: its work is done for nothing.
        case reset
        /// Fields that are too large: so many bytes were decoded for nothing. A table of the header
        /// compression makes thousands of one.
        case fields(Int)

        var points: Int {
            switch self {
            case .frame: 1
            case .reset: 5
            case .fields(let bytes): 5 + bytes / HTTP2Patience.decoded
            }
        }
    }

    /// The bytes that are decoded for nothing for one point. 4 KiB
    private static let decoded = 4 << 10

    /// - Returns: whether any patience is left.
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

    /// A DATA frame was sent: the client may answer with updates of two windows, and in time one
    /// more.
    mutating func earn() { stock = min(stock + 3, Self.limit) }
}
