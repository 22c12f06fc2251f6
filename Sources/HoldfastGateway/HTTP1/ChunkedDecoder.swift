import NIOCore

/// Decodes the chunked transfer coding: bytes in, content out. RFC 9112 §7.1
///
/// It is strict: a size is hexadecimal digits and nothing else, and every chunk ends in CRLF.
/// Extensions and trailers are limited, and dropped.
struct ChunkedDecoder {
    enum Event: Hashable {
        case body(ByteBuffer)
        case end
    }

    private enum State {
        case size(LineCutter)
        case data(Int64)
        case dataEnd
        case trailers(FieldBlock)
        case ended
    }

    private var state = State.size(LineCutter())
    private var restOfExtensions: Int
    private let limits: MessageLimits

    init(limits: MessageLimits) {
        self.limits = limits
        self.restOfExtensions = limits.chunkExtensions
    }

    /// The next event, or `nil` when more bytes are needed.
    mutating func next(_ pending: inout ByteBuffer) throws(MessageRefusal) -> Event? {
        while true {
            switch state {
            case .size(var cutter):
                let line = try cutter.next(
                    in: &pending,
                    limit: limits.chunkLine,
                    tooLong: MessageRefusal(.chunkExtensionsTooLarge)
                )
                state = .size(cutter)
                guard let line else { return nil }
                let size = try size(line)
                if size > 0 {
                    state = .data(size)
                } else {
                    let tooLarge = MessageRefusal(.trailersTooLarge, status: 431)
                    state = .trailers(FieldBlock(limit: limits.trailers, count: limits.fieldCount, tooLarge: tooLarge))
                }
            case .data(let rest):
                let count = Int(min(rest, Int64(pending.readableBytes)))
                guard count > 0, let data = pending.readSlice(length: count) else { return nil }
                state = rest == Int64(count) ? .dataEnd : .data(rest - Int64(count))
                return .body(data)
            case .dataEnd:
                let end = pending.readableBytesView.prefix(2)
                guard end.elementsEqual([.carriageReturn, .lineFeed].prefix(end.count)) else {
                    throw MessageRefusal(.chunkEnd)
                }
                guard end.count == 2 else { return nil }
                pending.moveReaderIndex(forwardBy: 2)
                state = .size(LineCutter())
            case .trailers(var block):
                let isComplete = try block.read(&pending)
                state = isComplete ? .ended : .trailers(block)
                return isComplete ? .end : nil
            case .ended:
                return nil
            }
        }
    }

    /// `chunk-size [ chunk-ext ]`
    private mutating func size(_ line: ByteBuffer) throws(MessageRefusal) -> Int64 {
        let bytes = line.readableBytesView
        let digits = bytes.prefix { $0.hexValue != nil }
        let rest = bytes.dropFirst(digits.count)
        guard !digits.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ";"), rest.allSatisfy(\.isFieldValueByte)
        else { throw MessageRefusal(.chunkSize) }
        restOfExtensions -= rest.count
        guard restOfExtensions >= 0 else { throw MessageRefusal(.chunkExtensionsTooLarge) }
        // 15 digits always fit into an Int64. Leading zeros are counted, so a long line of zeros is
        // not a size.
        guard digits.count <= 15 else { throw MessageRefusal(.chunkSize) }
        return digits.reduce(0) { $0 << 4 | Int64($1.hexValue ?? 0) }
    }
}
