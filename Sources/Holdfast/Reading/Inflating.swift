import CZlib
import NIOCore

/// Decodes one content coding completely in memory, and never exceeds its limit.
struct Inflating {
    /// The reason that decoding failed.
    enum Failure: Error, Hashable {
        /// The content is larger than the limit.
        case tooLarge
        /// The data ends before the coding is complete.
        case truncated
        /// The data does not match the coding, or its checksum is wrong.
        case damaged
    }

    /// The window size that selects zlib's format.
    private enum Format: Int32 {
        case raw = -15
        case zlib = 15
        case gzip = 31
    }

    /// The initial capacity of the output buffer, which grows with the content.
    private static let firstCapacity = 4096

    /// Returns the content with its coding removed.
    ///
    /// - Parameter limit: the maximum number of bytes to produce. Decoding tries to produce one
    ///   more byte, so content of exactly this length does not fail.
    /// - Throws: ``Failure``.
    static func decoded(_ content: ByteBuffer, _ coding: ContentCoding, upTo limit: Int) throws -> ByteBuffer {
        let format: Format =
            switch coding {
            case .gzip: .gzip
            case .deflate: content.beginsAsZlib ? .zlib : .raw
            }
        // zlib identifies a stream by its address.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer { stream.deallocate() }
        guard czlib_inflateInit2(stream, format.rawValue) == Z_OK else { throw Failure.damaged }
        defer { inflateEnd(stream) }
        var made = ByteBuffer()
        made.reserveCapacity(min(limit, max(firstCapacity, 4 * content.readableBytes)))
        try content.withUnsafeReadableBytes { input in
            // zlib does not write to the input.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            while true {
                let status = try step(stream, into: &made, upTo: limit)
                let (unread, room) = (stream.pointee.avail_in, stream.pointee.avail_out)
                if status == Z_STREAM_END {
                    guard unread > 0 else { return }
                    // Several consecutive members form a single content. RFC 1952 §2.2
                    guard format == .gzip, inflateReset(stream) == Z_OK else { throw Failure.damaged }
                } else if status == Z_BUF_ERROR || (status == Z_OK && unread == 0 && room > 0) {
                    throw Failure.truncated
                } else if status != Z_OK {
                    throw Failure.damaged
                }
            }
        }
        return made
    }

    /// Decodes the next bytes.
    private static func step(
        _ stream: UnsafeMutablePointer<z_stream>,
        into made: inout ByteBuffer,
        upTo limit: Int
    ) throws -> Int32 {
        let room = limit - made.readableBytes
        guard room > 0 else {
            // The end of the coding may still follow, but no more content.
            var excess: UInt8 = 0
            return try withUnsafeMutablePointer(to: &excess) { excess in
                stream.pointee.next_out = excess
                stream.pointee.avail_out = 1
                let status = inflate(stream, Z_NO_FLUSH)
                guard stream.pointee.avail_out == 1 else { throw Failure.tooLarge }
                return status
            }
        }
        var status = Z_OK
        let wanted = min(room, max(firstCapacity, made.readableBytes))
        made.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { output in
            let capacity = min(room, output.count)
            stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
            stream.pointee.avail_out = UInt32(capacity)
            status = inflate(stream, Z_NO_FLUSH)
            return capacity - Int(stream.pointee.avail_out)
        }
        return status
    }
}

extension ByteBuffer {
    /// Whether the first two bytes are a zlib header. RFC 1950 §2.2
    fileprivate var beginsAsZlib: Bool {
        guard let header = getInteger(at: readerIndex, as: UInt16.self) else { return false }
        return (header >> 8) & 0x0F == 8 && header >> 12 <= 7 && header % 31 == 0
    }
}
