package import NIOCore

/// Parses RESP2 and RESP3 incrementally.
///
/// The parser continues where it stopped: it searches no byte of a line twice, and does not read a
/// bulk string until all of its bytes have arrived. The buffer for a long bulk string is allocated
/// once, at its exact size. Strings are slices of the buffer. Attributes (`|`) are read and
/// dropped. Streamed strings and aggregates (`$?`, `*?`) are rejected, because no server sends
/// them.
///
/// After an error, every call throws the same error.
///
/// <https://redis.io/docs/latest/develop/reference/protocol-spec/>
package struct RESPParser: Sendable {
    private enum Container: Sendable {
        case array, set, map, push, attribute
    }

    /// A string of known length.
    private enum Body: Sendable {
        case bulk, error, verbatim
    }

    /// The parts of a message.
    private enum Item {
        case value(RESPValue)
        case container(Container, count: Int)
    }

    /// An incomplete aggregate.
    private struct Frame: Sendable {
        let container: Container
        var remaining: Int
        var elements: [RESPValue] = []
        /// The number of elements that no longer reference a socket's buffer.
        var detached = 0

        /// The aggregate; `nil` for an attribute, which is dropped, and for a push message.
        var value: RESPValue? {
            switch container {
            case .array: .array(elements)
            case .set: .set(elements)
            case .map: RESPValue.array(elements).entries.map { .map($0) }
            case .push, .attribute: nil
            }
        }
    }

    private let limits: RESPLimits
    private var buffer = ByteBuffer()
    /// Whether the buffer's storage may be shared, so that a write would copy all of it.
    private var isShared = false
    /// The number of unread bytes that are known to contain no line end.
    private var searched = 0
    private var body: (kind: Body, length: Int)?
    private var frames: [Frame] = []
    private var failure: RedisTierError?

    /// The current message's length in bytes (read or announced), values and attributes.
    private var length = 0
    private var values = 0
    private var attributes = 0

    package init(limits: RESPLimits = RESPLimits()) { self.limits = limits }

    /// The number of bytes that have not been decoded yet.
    package var undecodedCount: Int { buffer.readableBytes }

    package mutating func append(_ bytes: ByteBuffer) {
        guard failure == nil, bytes.readableBytes > 0 else { return }
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            isShared = true
            return
        }
        if isShared || buffer.writableBytes < bytes.readableBytes {
            let known = body.map { $0.length + 2 } ?? 0
            var larger = ByteBufferAllocator()
                .buffer(capacity: max(buffer.readableBytes + bytes.readableBytes, known))
            larger.writeImmutableBuffer(buffer)
            buffer = larger
            isShared = false
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// Returns the next message; `nil` if more bytes are needed.
    ///
    /// - Throws: ``RedisTierError/Code/malformed`` or ``RedisTierError/Code/limit(_:)``.
    package mutating func next() throws(RedisTierError) -> RESPMessage? {
        if let failure { throw failure }
        do throws(RedisTierError) {
            while let item = try nextItem() {
                if let message = try add(item) {
                    (length, values, attributes) = (0, 0, 0)
                    return message
                }
            }
        } catch {
            failure = error
            buffer = ByteBuffer()
            frames = []
            throw error
        }
        for index in frames.indices {
            frames[index].elements.detach(from: frames[index].detached)
            frames[index].detached = frames[index].elements.count
        }
        // An idle connection keeps no buffer.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return nil
    }

    // MARK: Aggregates

    private mutating func add(_ item: Item) throws(RedisTierError) -> RESPMessage? {
        var value: RESPValue
        switch item {
        case .value(let plain): value = plain
        case .container(let container, let count):
            let frame = Frame(container: container, remaining: count)
            guard count == 0 else {
                guard frames.count < limits.depth else { throw limits.exceeded(.depth) }
                frames.append(frame)
                return nil
            }
            if container == .push { throw .malformed("a push without a kind") }
            guard let empty = frame.value else { return nil }
            value = empty
        }
        while let last = frames.indices.last {
            frames[last].elements.append(value)
            frames[last].remaining -= 1
            guard frames[last].remaining == 0 else { return nil }
            let frame = frames.removeLast()
            if frame.container == .push { return .push(frame.elements) }
            guard let whole = frame.value else { return nil }
            value = whole
        }
        return .reply(value)
    }

    private mutating func container(_ container: Container, count: Int) throws(RedisTierError) -> Item {
        let isPaired = container == .map || container == .attribute
        guard count <= (isPaired ? limits.aggregateCount / 2 : limits.aggregateCount) else {
            throw limits.exceeded(.aggregateCount)
        }
        let count = isPaired ? count * 2 : count
        values += count
        guard values <= limits.valueCount else { throw limits.exceeded(.valueCount) }
        if container == .attribute {
            attributes += 1
            guard attributes <= limits.attributeCount else { throw limits.exceeded(.attributeCount) }
        }
        if container == .push, !frames.isEmpty { throw .malformed("a push inside a reply") }
        return .container(container, count: count)
    }

    // MARK: Items

    private mutating func nextItem() throws(RedisTierError) -> Item? {
        if let body { return try string(body.kind, body.length) }
        guard let type = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else { return nil }
        guard let kind = Kind(rawValue: type) else { throw .malformed("an unknown type") }
        guard let line = try line(kind) else { return nil }
        switch kind {
        case .simpleString:
            isShared = true
            return .value(.simpleString(line))
        case .error: return .value(.error(RESPServerError(line)))
        case .bigNumber:
            guard line.isInteger else { throw .malformed("a big number with other characters") }
            isShared = true
            return .value(.bigNumber(line))
        case .integer:
            guard let number = line.integer else { throw .malformed("a number with other characters") }
            return .value(.integer(number))
        case .double:
            guard let number = line.double else { throw .malformed("a double with other characters") }
            return .value(.double(number))
        case .boolean:
            switch line.getInteger(at: line.readerIndex, as: UInt8.self) {
            case UInt8(ascii: "t") where line.readableBytes == 1: return .value(.boolean(true))
            case UInt8(ascii: "f") where line.readableBytes == 1: return .value(.boolean(false))
            default: throw .malformed("a boolean that is not 't' or 'f'")
            }
        case .null:
            guard line.readableBytes == 0 else { throw .malformed("a null with content") }
            return .value(.null)
        case .bulk, .blobError, .verbatim, .array, .set, .map, .push, .attribute:
            return try announced(kind, line)
        }
    }

    /// Reads a type that has a length or a count.
    private mutating func announced(_ kind: Kind, _ line: ByteBuffer) throws(RedisTierError) -> Item? {
        guard let count = line.count else {
            // RESP2 has no separate null type.
            if kind == .bulk || kind == .array, line.readableBytesView.elementsEqual("-1".utf8) { return .value(.null) }
            throw .malformed("a length that is not a number")
        }
        switch kind {
        case .blobError: return try begin(.error, count)
        case .verbatim: return try begin(.verbatim, count)
        case .array: return try container(.array, count: count)
        case .set: return try container(.set, count: count)
        case .map: return try container(.map, count: count)
        case .push: return try container(.push, count: count)
        case .attribute: return try container(.attribute, count: count)
        default: return try begin(.bulk, count)
        }
    }

    private mutating func begin(_ kind: Body, _ count: Int) throws(RedisTierError) -> Item? {
        guard count <= limits.bulkLength else { throw limits.exceeded(.bulkLength) }
        try take(count + 2)
        return try string(kind, count)
    }

    /// Reads a string of known length, if all of it has arrived.
    private mutating func string(_ kind: Body, _ count: Int) throws(RedisTierError) -> Item? {
        guard buffer.readableBytes >= count + 2 else {
            body = (kind, count)
            return nil
        }
        body = nil
        guard var bytes = buffer.readSlice(length: count), buffer.readInteger(as: UInt16.self) == 0x0D0A else {
            throw .malformed("a string whose length differs from its announced length")
        }
        switch kind {
        case .error: return .value(.error(RESPServerError(bytes)))
        case .bulk:
            isShared = true
            return .value(.bulkString(bytes))
        case .verbatim:
            guard let format = bytes.readString(length: 3), bytes.readInteger() == UInt8(ascii: ":") else {
                throw .malformed("a verbatim string without a format")
            }
            isShared = true
            return .value(.verbatimString(format: format, bytes))
        }
    }

    /// Adds bytes to the length of the current message.
    private mutating func take(_ count: Int) throws(RedisTierError) {
        length += count
        guard length <= limits.replyLength else { throw limits.exceeded(.replyLength) }
    }

    /// Returns the content of the next line, if its end has arrived.
    private mutating func line(_ kind: Kind) throws(RedisTierError) -> ByteBuffer? {
        let most = kind.isNumber ? min(Kind.longestNumber, limits.lineLength) : limits.lineLength
        let isEnd = { (byte: UInt8) in byte == 0x0D || byte == 0x0A }
        let found = buffer.readableBytesView.dropFirst(max(searched, 1)).firstIndex(where: isEnd)
        let end = found.map { $0 - buffer.readerIndex } ?? buffer.readableBytes
        searched = end
        // The type's byte does not count.
        guard end - 1 <= most else { throw limits.exceeded(.lineLength) }
        guard let found else { return nil }
        guard buffer.getInteger(at: found, as: UInt8.self) == 0x0D else { throw .malformed("a line without CR") }
        guard let last = buffer.getInteger(at: found + 1, as: UInt8.self) else { return nil }
        guard last == 0x0A else { throw .malformed("a CR inside a line") }
        searched = 0
        try take(end + 2)
        buffer.moveReaderIndex(forwardBy: 1)
        let line = buffer.readSlice(length: end - 1)
        buffer.moveReaderIndex(forwardBy: 2)
        return line
    }
}
