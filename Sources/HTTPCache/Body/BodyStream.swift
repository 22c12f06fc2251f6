public import HTTPCacheSemantics
package import HTTPTypes
public import NIOCore

/// A streaming body. Its reader pulls the chunks in order, one at a time.
///
/// Pulling provides back-pressure: no chunk is produced before it is requested. A stream is read
/// once; a second iterator of a stream from the network throws ``BodyStreamError/alreadyRead``. An
/// iterator returns `nil` at the end of a complete body, and throws if the body is incomplete.
public struct BodyStream: AsyncSequence, Sendable {
    /// A chunk of at least one byte.
    public typealias Element = ByteBuffer

    /// The length of the whole body in bytes, if it is known before the body is read.
    ///
    /// The origin may state any number, so compare it with a limit first: see
    /// `StatedLength`.
    public let length: StatedLength?

    private enum Source: Sendable {
        case buffer(ByteBuffer)
        case chunks(@Sendable () -> () async throws -> ByteBuffer?)
        case trailed(any TrailedContent)
    }

    private let source: Source

    /// - Parameter start: called once for each iterator; returns the function that produces its
    ///   chunks. The chunks are not empty.
    public init(length: StatedLength? = nil, start: @escaping @Sendable () -> () async throws -> ByteBuffer?) {
        self.length = length
        source = .chunks(start)
    }

    /// Creates a body that is in memory. It may be read any number of times.
    public init(_ buffer: ByteBuffer) {
        length = StatedLength(clamping: buffer.readableBytes)
        source = .buffer(buffer)
    }

    /// Creates a body that may end with trailer fields.
    package init(length: StatedLength? = nil, trailed content: any TrailedContent) {
        self.length = length
        source = .trailed(content)
    }

    /// The trailer fields that may be forwarded; `nil` if there are none, or if the body has not
    /// been read to its end.
    ///
    /// Only a stream from the network has trailer fields. They are neither stored nor shared
    /// between requests, and never become fields of a head: RFC 9110 §6.5.1 allows a cache to drop
    /// them.
    package var trailers: HTTPFields? { trailedContent?.trailers }

    var trailedContent: (any TrailedContent)? {
        if case .trailed(let content) = source { content } else { nil }
    }

    /// The whole body, if it is in memory.
    package var whole: ByteBuffer? {
        if case .buffer(let buffer) = source { buffer } else { nil }
    }

    /// An empty body.
    public static let empty = BodyStream(ByteBuffer())

    /// Reads the body once, chunk by chunk.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let produce: () async throws -> ByteBuffer?

        /// Returns the next chunk; `nil` after the last chunk.
        public mutating func next() async throws -> ByteBuffer? {
            try await produce()
        }
    }

    /// Starts reading the body.
    public func makeAsyncIterator() -> AsyncIterator {
        switch source {
        case .chunks(let start): return AsyncIterator(produce: start())
        case .trailed(let content): return AsyncIterator(produce: content.startReading())
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
    /// - Parameter limit: the maximum number of bytes. For a longer body, this throws
    ///   ``BodyStreamError/tooLarge(limit:)``.
    public func collect(upTo limit: Int) async throws -> ByteBuffer {
        if let length, !length.isWithin(Int64(limit)) { throw BodyStreamError.tooLarge(limit: limit) }
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

/// The errors that a ``BodyStream`` throws itself. Errors of its source are passed on unchanged.
public enum BodyStreamError: Error, Sendable, Hashable {
    /// The body came from the network and has already been read.
    case alreadyRead
    /// The body has more bytes than the reader accepts.
    case tooLarge(limit: Int)
    /// This reader was too slow: the body is not stored, other readers are ahead, and the bytes
    /// that this reader would read next are gone.
    case fellBehind
    /// The body ended before the stated number of bytes.
    case truncated(expected: StatedLength, received: StatedLength)
}
