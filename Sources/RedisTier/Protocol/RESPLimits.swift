/// The limits on the bytes of a server. A reply beyond one of them ends the connection, before
/// memory is taken for it.
package struct RESPLimits: Sendable, Hashable {
    /// The limits by name, for errors.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case bulkLength
        case lineLength
        case depth
        case aggregateCount
        case valueCount
        case replyLength
        case attributeCount
    }

    /// The longest bulk string, in bytes. The tier stores nothing longer than a chunk of 64 KiB and
    /// its envelope.
    package var bulkLength = 1 << 20
    /// The longest simple string, error or big number, in bytes without type and line end.
    package var lineLength = 4096
    /// How deep aggregates may be nested: 1 is an array of plain values.
    package var depth = 8
    /// The most values in one aggregate; an entry of a map is two.
    package var aggregateCount = 65_536
    /// The most values in one reply, those of nested aggregates and attributes included.
    package var valueCount = 262_144
    /// The longest reply, in bytes as sent, attributes included.
    package var replyLength = 16 << 20
    /// The most attributes in one reply.
    package var attributeCount = 16

    /// The defaults.
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
