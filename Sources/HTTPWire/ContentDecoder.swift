import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// Decodes a message's content: bytes in, content out. RFC 9112 §6 and §7.1
///
/// It is strict: a chunk size contains only hexadecimal digits, and every chunk ends in CRLF.
/// Extensions are limited and dropped.
package struct ContentDecoder {
    package enum Event: Hashable {
        case body(ByteBuffer)
        /// - Parameter trailers: the fields after the last chunk; `nil` if there are none.
        case end(trailers: HTTPFields?)
    }

    private enum State {
        /// The number of bytes that follow; at 0 the content is complete.
        case length(StatedLength)
        case untilClose
        case chunkSize(LineCutter)
        case chunk(StatedLength)
        case chunkEnd
        case trailers(FieldBlock)
    }

    private var state: State
    private var restOfExtensions: Int
    private let limits: MessageLimits

    init(_ framing: Framing, limits: MessageLimits) {
        state =
            switch framing {
            case .none: .length(0)
            case .length(let length): .length(length)
            case .chunked: .chunkSize(LineCutter())
            case .untilClose: .untilClose
            }
        self.limits = limits
        self.restOfExtensions = limits.chunkExtensions
    }

    /// Returns the next event, or `nil` if more bytes are needed. After the end, every call returns
    /// `end`.
    ///
    /// - Parameter isInputClosed: whether no more bytes will arrive.
    mutating func next(
        _ pending: inout ByteBuffer,
        isInputClosed: Bool = false
    ) throws(MessageRefusal) -> Event? {
        while true {
            switch state {
            case .length(0): return .end(trailers: nil)
            case .length(let rest):
                guard let data = pending.read(upTo: rest) else { return nil }
                state = .length(rest.subtracting(data.readableBytes) ?? 0)
                return .body(data)
            case .untilClose:
                guard let data = pending.read(upTo: .maximum) else { return isInputClosed ? .end(trailers: nil) : nil }
                return .body(data)
            case .chunkSize(var cutter):
                let tooLong = MessageRefusal(.chunkExtensionsTooLarge)
                let line = try cutter.next(in: &pending, limit: limits.chunkLine, tooLong: tooLong)
                state = .chunkSize(cutter)
                guard let line else { return nil }
                let size = try size(line)
                if size > 0 {
                    state = .chunk(size)
                } else {
                    let tooLarge = MessageRefusal(.trailersTooLarge, status: 431)
                    state = .trailers(FieldBlock(limit: limits.trailers, count: limits.fieldCount, tooLarge: tooLarge))
                }
            case .chunk(let rest):
                guard let data = pending.read(upTo: rest) else { return nil }
                let left = rest.subtracting(data.readableBytes) ?? 0
                state = left == 0 ? .chunkEnd : .chunk(left)
                return .body(data)
            case .chunkEnd:
                let end = pending.readableBytesView.prefix(2)
                guard end.elementsEqual([.carriageReturn, .lineFeed].prefix(end.count)) else {
                    throw MessageRefusal(.chunkEnd)
                }
                guard end.count == 2 else { return nil }
                pending.moveReaderIndex(forwardBy: 2)
                state = .chunkSize(LineCutter())
            case .trailers(var block):
                let isComplete = try block.read(&pending)
                state = isComplete ? .length(0) : .trailers(block)
                guard isComplete else { return nil }
                if !block.fields.isEmpty { return .end(trailers: block.fields) }
            }
        }
    }

    /// Returns the size in a line `chunk-size [ chunk-ext ]`.
    private mutating func size(_ line: ByteBuffer) throws(MessageRefusal) -> StatedLength {
        let bytes = line.readableBytesView
        let digits = bytes.prefix { $0.hexValue != nil }
        let rest = bytes.dropFirst(digits.count)
        guard !digits.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ";"), rest.allSatisfy(\.isFieldValueByte)
        else { throw MessageRefusal(.chunkSize) }
        restOfExtensions -= rest.count
        guard restOfExtensions >= 0 else { throw MessageRefusal(.chunkExtensionsTooLarge) }
        // 15 digits always fit in an Int64. Leading zeros count as digits, so a long line of zeros
        // is rejected.
        guard digits.count <= 15 else { throw MessageRefusal(.chunkSize) }
        return StatedLength(clamping: digits.reduce(0) { $0 << 4 | Int64($1.hexValue ?? 0) })
    }
}

extension ByteBuffer {
    /// Reads the bytes that have arrived, up to a limit; `nil` if there are none.
    fileprivate mutating func read(upTo limit: StatedLength) -> ByteBuffer? {
        readableBytes > 0 ? readSlice(length: limit.capped(at: readableBytes)) : nil
    }
}
