import CZlib
import Hummingbird

/// A short gzip stream that inflates to a very long run of zeros: what a client's limit is for.
///
/// One MiB of zeros is compressed so that it can be repeated, so neither side of it is ever held: a
/// GiB is a thousand times the same 1 KiB. The checksum and the length at its end are right, so
/// nothing but its size is wrong with it.
struct InflationBomb {
    private static let mebibyte = 1 << 20
    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255]
    /// A last block with nothing in it.
    private static let lastBlock: [UInt8] = [3, 0]

    private let segment: [UInt8]
    private let repetitions: Int
    private let trailer: [UInt8]

    /// The bomb that inflates to so many MiB.
    init(mebibytes: Int) throws {
        let zeros = [UInt8](repeating: 0, count: Self.mebibyte)
        segment = try Deflater(.raw).compress(zeros, .full)
        repetitions = mebibytes
        let part = crc32(0, zeros, UInt32(zeros.count))
        let checksum = (0..<mebibytes).reduce(UInt(0)) { sum, _ in UInt(crc32_combine(uLong(sum), part, Self.mebibyte))
        }
        // The length is counted modulo 2³² (RFC 1952 §2.3.1).
        let length = UInt32(truncatingIfNeeded: mebibytes * Self.mebibyte)
        trailer = [UInt32(truncatingIfNeeded: checksum), length].flatMap { number in
            withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
    }

    /// How long it is on the wire.
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
