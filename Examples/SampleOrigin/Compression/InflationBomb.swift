import CZlib
import Hummingbird

/// A short gzip stream that inflates to a very long run of zeros. A client needs a limit to
/// withstand it.
///
/// One MiB of zeros is compressed to about 1 KiB that can be repeated; a GiB is 1024 repetitions.
/// So neither form is ever in memory as a whole. The stream is valid: the checksum and the length
/// at its end are correct.
struct InflationBomb {
    private static let mebibyte = 1 << 20
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255]
    /// An empty last block.
    private static let lastBlock: [UInt8] = [3, 0]

    private let segment: [UInt8]
    private let repetitions: Int
    private let trailer: [UInt8]

    /// Creates a bomb that inflates to the given number of MiB.
    init(mebibytes: Int) throws {
        let zeros = [UInt8](repeating: 0, count: Self.mebibyte)
        segment = try Deflater(.raw).compress(zeros, .full)
        repetitions = mebibytes
        let part = crc32(0, zeros, UInt32(zeros.count))
        let checksum = (0..<mebibytes).reduce(UInt(0)) { sum, _ in UInt(crc32_combine(uLong(sum), part, Self.mebibyte))
        }
        // The length is stated modulo 2³² (RFC 1952 §2.3.1).
        let length = UInt32(truncatingIfNeeded: mebibytes * Self.mebibyte)
        trailer = [UInt32(truncatingIfNeeded: checksum), length].flatMap { number in
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
    }

    /// The length on the wire, in bytes.
    var compressedLength: Int {
        Self.header.count + segment.count * repetitions + Self.lastBlock.count + trailer.count
    }

    var body: ResponseBody {
        ResponseBody(contentLength: compressedLength) { writer in
            try await writer.write(ByteBuffer(bytes: Self.header))
            for _ in 0..<repetitions {
                try await writer.write(ByteBuffer(bytes: segment))
            }
            try await writer.write(ByteBuffer(bytes: Self.lastBlock + trailer))
            try await writer.finish(nil)
        }
    }
}
