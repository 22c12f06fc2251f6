import CZlib

/// Compresses a stream part by part with the system's zlib. The output depends on the version of
/// zlib.
final class Deflater {
    /// The format around the compressed data.
    enum Format: Int32 {
        /// The coding `gzip`: RFC 1952.
        case gzip = 31
        /// The coding `deflate`: the zlib format, RFC 1950.
        case zlib = 15
        /// Without a format, bare RFC 1951, which many servers sent for the coding `deflate`.
        case raw = -15
    }

    enum Flush: Int32 {
        case none = 0
        /// Ends at a byte boundary. Later data does not refer to earlier data.
        case full = 3
        case finish = 4
    }

    /// The error if zlib cannot start for lack of memory.
    struct Unavailable: Error {}

    // zlib keeps a pointer to the stream, so its address must not change.
    private let stream: UnsafeMutablePointer<z_stream>

    init(_ format: Format) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_deflateInit2(stream, Z_BEST_COMPRESSION, format.rawValue, 8) == Z_OK else { throw Unavailable() }
    }

    deinit {
        deflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Compresses the bytes and returns the output so far, which may be empty.
    func compress(_ bytes: [UInt8], _ flush: Flush = .none) -> [UInt8] {
        var input = bytes
        var output: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 15)
        input.withUnsafeMutableBufferPointer { source in
            stream.pointee.next_in = source.baseAddress
            stream.pointee.avail_in = UInt32(source.count)
            repeat {
                let written = room.withUnsafeMutableBufferPointer { target in
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = UInt32(target.count)
                    deflate(stream, flush.rawValue)
                    return target.count - Int(stream.pointee.avail_out)
                }
                output.append(contentsOf: room[..<written])
                // If the buffer is full, there may be more output.
            } while stream.pointee.avail_out == 0
        }
        return output
    }
}
