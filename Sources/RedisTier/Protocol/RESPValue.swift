package import NIOCore

/// A RESP2 or RESP3 value.
///
/// Byte values are slices of a buffer that was read from a socket, and they keep the whole buffer
/// in memory. Call ``detach()`` before you keep a value for a long time.
///
/// <https://redis.io/docs/latest/develop/reference/protocol-spec/>
package enum RESPValue: Sendable, Hashable {
    /// `+`: text without line ends.
    case simpleString(ByteBuffer)
    /// `$`: arbitrary bytes.
    case bulkString(ByteBuffer)
    /// `=`: bytes with a three-character format, such as `txt` or `mkd`.
    case verbatimString(format: String, ByteBuffer)
    /// `-` and `!`: the server rejected the command.
    case error(RESPServerError)
    /// `:`: an integer.
    case integer(Int64)
    /// `,`: a number, which may be infinite or NaN.
    case double(Double)
    /// `(`: an integer of any length, in decimal.
    case bigNumber(ByteBuffer)
    /// `#`: a Boolean.
    case boolean(Bool)
    /// `_`, and in RESP2 `$-1` and `*-1`: no value.
    case null
    /// `*`: an array.
    case array([RESPValue])
    /// `~`: a set. Repeated elements are not removed.
    case set([RESPValue])
    /// `%`: a map. Repeated keys are not removed.
    case map([RESPEntry])
}

/// An entry of a map.
package struct RESPEntry: Sendable, Hashable {
    package var key: RESPValue
    package var value: RESPValue

    package init(key: RESPValue, value: RESPValue) {
        self.key = key
        self.value = value
    }
}

/// An error reply. It may quote the command's arguments, so do not log the text.
package struct RESPServerError: Sendable, Hashable {
    /// The maximum length of the kept text, in bytes.
    static let longestText = 1024

    /// The whole text, such as `WRONGTYPE Operation against a key …`, truncated to 1024 bytes.
    package var text: String

    package init(_ text: String) { self.text = text }

    /// The first word, such as `WRONGTYPE`.
    package var code: Substring { text.prefix { $0 != " " } }
}

/// A message from a server.
package enum RESPMessage: Sendable, Hashable {
    /// The reply to the oldest command that is still waiting for one.
    case reply(RESPValue)
    /// `>`: a push message, which no command requested. The first element names its kind.
    case push([RESPValue])
}

extension RESPValue {
    /// The bytes of a string of any kind.
    package var bytes: ByteBuffer? {
        switch self {
        case .simpleString(let bytes), .bulkString(let bytes), .verbatimString(_, let bytes): bytes
        case .error, .integer, .double, .bigNumber, .boolean, .null, .array, .set, .map: nil
        }
    }

    /// The text of a string of any kind; bytes that are not UTF-8 are replaced.
    package var text: String? { bytes.map { String(buffer: $0) } }

    /// The entries of a map, or of an array of alternating keys and values, as in RESP2.
    package var entries: [RESPEntry]? {
        switch self {
        case .map(let entries): entries
        case .array(let elements) where elements.count.isMultiple(of: 2):
            stride(from: 0, to: elements.count, by: 2).map { RESPEntry(key: elements[$0], value: elements[$0 + 1]) }
        default: nil
        }
    }

    /// Copies bytes that are much shorter than their buffer, so that this value does not keep the
    /// whole buffer in memory.
    package mutating func detach() {
        switch self {
        case .simpleString(let bytes): if let copy = bytes.detached { self = .simpleString(copy) }
        case .bulkString(let bytes): if let copy = bytes.detached { self = .bulkString(copy) }
        case .bigNumber(let bytes): if let copy = bytes.detached { self = .bigNumber(copy) }
        case .verbatimString(let format, let bytes):
            if let copy = bytes.detached { self = .verbatimString(format: format, copy) }
        case .array(var elements):
            // Release the value, so that the elements can be changed in place.
            self = .null
            elements.detach()
            self = .array(elements)
        case .set(var elements):
            self = .null
            elements.detach()
            self = .set(elements)
        case .map(var entries):
            self = .null
            for index in entries.indices {
                entries[index].key.detach()
                entries[index].value.detach()
            }
            self = .map(entries)
        case .error, .integer, .double, .boolean, .null: break
        }
    }
}

extension [RESPValue] {
    mutating func detach(from start: Int = 0) {
        for index in indices[start...] { self[index].detach() }
    }
}

extension ByteBuffer {
    /// A copy of these bytes, if they are a small part of their storage.
    fileprivate var detached: ByteBuffer? {
        // Even a buffer of the right size may have up to twice the capacity, because capacities are
        // powers of two.
        guard storageCapacity > 2 * readableBytes + 64 else { return nil }
        return ByteBuffer(bytes: readableBytesView)
    }
}
