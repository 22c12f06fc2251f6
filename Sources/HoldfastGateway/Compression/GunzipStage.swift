import CZlib
import NIOCore

/// Decodes gzip. RFC 1952
struct GunzipStage: ContentStage {
    enum Failure: Error {
        /// The bytes are not gzip, or end early.
        case damaged
        /// The content is longer than the limit.
        case tooLarge
    }

    static var expands: Bool { true }

    /// The maximum length of decoded content: 64 MiB. A megabyte of gzip can contain a gigabyte.
    static let limit = 64 << 20

    /// `nil` if there was no memory for it.
    private let stream: ZlibStream?
    private var rest: Int
    /// Whether the last member is complete, and no further one has begun.
    private var isComplete = true
    private var isFirst = true

    init(limit: Int = GunzipStage.limit) {
        stream = ZlibStream(level: nil)
        rest = limit
    }

    mutating func take(_ piece: inout ByteBuffer) throws -> ByteBuffer {
        guard piece.readableBytes > 0 else { return ByteBuffer() }
        guard let stream else { throw Failure.damaged }
        // Several consecutive members form a single content. RFC 1952 §2.2
        if isComplete, !isFirst { guard stream.reset() else { throw Failure.damaged } }
        (isComplete, isFirst) = (false, false)
        let (output, status) = stream.run(&piece)
        guard status == Z_OK || status == Z_STREAM_END else { throw Failure.damaged }
        isComplete = status == Z_STREAM_END
        return try counted(output)
    }

    mutating func end() throws -> ByteBuffer {
        if !isComplete, let stream {
            var (result, none) = (ByteBuffer(), ByteBuffer())
            while !isComplete {
                let (output, status) = stream.run(&none)
                isComplete = status == Z_STREAM_END
                result.writeImmutableBuffer(try counted(output))
                guard isComplete || output.readableBytes == ZlibStream.outputLimit else { throw Failure.damaged }
            }
            return result
        }
        return ByteBuffer()
    }

    private mutating func counted(_ output: ByteBuffer) throws -> ByteBuffer {
        rest -= output.readableBytes
        guard rest >= 0 else { throw Failure.tooLarge }
        return output
    }
}
