public import NIOCore

/// A body as it passes: chunks in order, pulled one at a time by whoever reads it.
///
/// Pulling is the back-pressure: nothing is produced that nobody asked for. A stream is read once;
/// a second iterator of a stream that came off the wire throws ``BodyStreamError/alreadyRead``. It
/// ends by returning `nil`, or by throwing when the body is incomplete; an incomplete body never
/// ends quietly.
public struct BodyStream: AsyncSequence, Sendable {
    /// Some bytes, at least one.
    public typealias Element = ByteBuffer

    /// Bytes in the whole body, where that is known before it is read.
    public let length: Int64?

    private enum Source: Sendable {
        case buffer(ByteBuffer)
        case chunks(@Sendable () -> () async throws -> ByteBuffer?)
    }

    private let source: Source

    /// - Parameter start: called once for each iterator; answers with the function that produces
    ///   its chunks. The chunks are not empty.
    public init(length: Int64? = nil, start: @escaping @Sendable () -> () async throws -> ByteBuffer?) {
        self.length = length
        source = .chunks(start)
    }

    /// A body that is in memory already. It may be read any number of times.
    public init(_ buffer: ByteBuffer) {
        length = Int64(buffer.readableBytes)
        source = .buffer(buffer)
    }

    /// All of the body, where it is in memory already.
    package var whole: ByteBuffer? {
        if case .buffer(let buffer) = source { buffer } else { nil }
    }

    /// No bytes at all.
    public static let empty = BodyStream(ByteBuffer())

    /// Reads the body once, chunk by chunk.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let produce: () async throws -> ByteBuffer?

        /// The next chunk; `nil` after the last.
        public mutating func next() async throws -> ByteBuffer? {
            try await produce()
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .chunks(let start): return AsyncIterator(produce: start())
        case .buffer(let buffer):
            var rest: ByteBuffer? = buffer.readableBytes > 0 ? buffer : nil
            return AsyncIterator {
                defer { rest = nil }
                return rest
            }
        }
    }

    /// Reads the whole body into memory.
    ///
    /// - Parameter limit: bytes accepted; one more and ``BodyStreamError/tooLarge(limit:)`` is
    ///   thrown.
    public func collect(upTo limit: Int) async throws -> ByteBuffer {
        if let length, length > Int64(limit) { throw BodyStreamError.tooLarge(limit: limit) }
        var whole = ByteBuffer()
        for try await chunk in self {
            guard whole.readableBytes + chunk.readableBytes <= limit else {
                throw BodyStreamError.tooLarge(limit: limit)
            }
            whole.writeImmutableBuffer(chunk)
        }
        return whole
    }
}

/// What can be wrong with reading a ``BodyStream`` itself; failures of what it reads from pass
/// through as they are.
public enum BodyStreamError: Error, Sendable, Hashable {
    /// The body came off the wire and has been read already.
    case alreadyRead
    /// The body has more bytes than the reader accepts.
    case tooLarge(limit: Int)
    /// The body could not be stored, others read it faster, and what this reader would have read
    /// next is gone.
    case fellBehind
    /// The body ended after fewer bytes than were announced.
    case truncated(expected: Int64, received: Int64)
}
