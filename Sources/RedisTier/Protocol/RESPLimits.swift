/// The limits on a server's replies. A reply that exceeds a limit ends the connection before memory
/// is allocated for it.
package struct RESPLimits: Sendable, Hashable {
    /// The names of the limits, for errors.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case bulkLength
        case lineLength
        case depth
        case aggregateCount
        case valueCount
        case replyLength
        case attributeCount
    }

    /// The maximum length of a bulk string, in bytes. The fleet stores no value longer than an
    /// envelope with a chunk of 64 KiB.
    package var bulkLength = 1 << 20
    /// The maximum length of a simple string, error or big number, in bytes without the type and
    /// the line end.
    package var lineLength = 4096
    /// The maximum nesting depth of aggregates: 1 is an array of plain values.
    package var depth = 8
    /// The maximum number of values in one aggregate; an entry of a map counts as two.
    package var aggregateCount = 65_536
    /// The maximum number of values in one reply, including nested aggregates and attributes.
    package var valueCount = 262_144
    /// The maximum length of a reply, in bytes as sent, including attributes.
    package var replyLength = 16 << 20
    /// The maximum number of attributes in one reply.
    package var attributeCount = 16

    /// Creates the default limits.
    package init() {}

    subscript(kind: Kind) -> Int {
        switch kind {
        case .bulkLength: bulkLength
        case .lineLength: lineLength
        case .depth: depth
        case .aggregateCount: aggregateCount
        case .valueCount: valueCount
        case .replyLength: replyLength
        case .attributeCount: attributeCount
        }
    }

    func exceeded(_ kind: Kind) -> RedisTierError {
        RedisTierError(
            .limit(kind),
            "The server sent a reply beyond the limit '\(kind.rawValue)' of \(self[kind]). The connection was closed."
        )
    }
}
