import CZlib
import NIOCore

/// A stream of zlib: gzip in one direction. RFC 1952
///
/// A class, because zlib identifies a stream by its address.
final class ZlibStream {
    private let stream: UnsafeMutablePointer<z_stream>
    private let compresses: Bool

    /// The format gzip with the largest window, in zlib's numbers.
    private static let gzip: Int32 = 31

    /// The size of the pieces in which a stream's output is returned: 16 KiB
    static let outputLimit = 16 << 10

    /// - Parameter level: compresses at this level; `nil` to decompress.
    /// - Returns: `nil` if there is no memory for the stream.
    init?(level: Int32?) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = level.map { czlib_deflateInit2(stream, $0, Self.gzip, 8) } ?? czlib_inflateInit2(stream, Self.gzip)
        guard status == Z_OK else {
            stream.deallocate()
            return nil
        }
        self.stream = stream
        compresses = level != nil
    }

    deinit {
        _ = compresses ? deflateEnd(stream) : inflateEnd(stream)
        stream.deallocate()
    }

    /// Begins the next member of gzip.
    ///
    /// - Returns: `false` if the stream is damaged.
    func reset() -> Bool { inflateReset(stream) == Z_OK }

    /// Reads from the input, and returns at most ``outputLimit`` bytes with zlib's status.
    func run(_ input: inout ByteBuffer, _ flush: Int32 = Z_NO_FLUSH) -> (output: ByteBuffer, status: Int32) {
        var (output, status) = (ByteBuffer(), Z_OK)
        let read = input.withUnsafeReadableBytes { bytes in
            let length = UInt32(clamping: bytes.count)
            // zlib does not write to the input.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            stream.pointee.avail_in = length
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.outputLimit) { room in
                let count = UInt32(clamping: min(room.count, Self.outputLimit))
                stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = count
                status = compresses ? deflate(stream, flush) : inflate(stream, flush)
                return Int(clamping: count - stream.pointee.avail_out)
            }
            return Int(clamping: length - stream.pointee.avail_in)
        }
        input.moveReaderIndex(forwardBy: read)
        return (output, status)
    }

    /// Returns all bytes that the stream still holds.
    func drain(_ flush: Int32) -> ByteBuffer {
        var (result, none) = (ByteBuffer(), ByteBuffer())
        while true {
            let output = run(&none, flush).output
            result.writeImmutableBuffer(output)
            if output.readableBytes < Self.outputLimit { return result }
        }
    }
}
