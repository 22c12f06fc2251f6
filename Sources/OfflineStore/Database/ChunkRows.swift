import NIOCore
import StoreFiles

/// A body's bytes as chunk rows of 64 KiB each. The checksums are computed here, outside the
/// writer's transaction.
struct ChunkRows: Sendable {
    /// The bytes as received. Copying them would take as long as writing some of the rows.
    enum Bytes: Sendable {
        case buffer(ByteBuffer)
        case array([UInt8])

        var count: Int {
            switch self {
            case .buffer(let buffer): buffer.readableBytes
            case .array(let array): array.count
            }
        }

        func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            switch self {
            case .buffer(let buffer): try buffer.withUnsafeReadableBytes(body)
            case .array(let array): try array.withUnsafeBytes(body)
            }
        }
    }

    let firstID: Int64
    let bytes: Bytes
    let count: Int
    /// The first chunk's checksum. Most bodies have only one chunk and need no array.
    private let firstChecksum: UInt64
    private let otherChecksums: [UInt64]

    /// - Parameter index: the index of the first chunk in its body.
    init(bodyID: Int64, from index: Int, _ bytes: Bytes) {
        let firstID = bodyID << 16 | Int64(index)
        func checksum(_ index: Int) -> UInt64 {
            bytes.withUnsafeBytes {
                XXHash64.hash(Self.chunk($0, index), seed: UInt64(bitPattern: firstID + Int64(index)))
            }
        }
        self.firstID = firstID
        self.bytes = bytes
        count = (bytes.count + StoreLimits.chunkLength - 1) / StoreLimits.chunkLength
        firstChecksum = count == 0 ? 0 : checksum(0)
        otherChecksums = count < 2 ? [] : (1..<count).map(checksum)
    }

    /// Returns the checksum of a chunk. The index is less than ``count``.
    func checksum(_ index: Int) -> UInt64 { index == 0 ? firstChecksum : otherChecksums[index - 1] }

    static func chunk(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UnsafeRawBufferPointer {
        let start = index * StoreLimits.chunkLength
        return UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + StoreLimits.chunkLength, bytes.count)])
    }
}
