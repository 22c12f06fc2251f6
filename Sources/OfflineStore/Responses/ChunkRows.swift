import NIOCore

/// Octets of a body as the rows they become: 64 KiB each, with checksums that are computed here, outside the writer's transaction.
struct ChunkRows: Sendable {
    let firstID: Int64
    let octets: ByteBuffer
    let checksums: [UInt64]

    /// - Parameter index: the first chunk's index in its body.
    init(bodyID: Int64, from index: Int, _ octets: ByteBuffer) {
        let firstID = bodyID << 16 | Int64(index)
        self.firstID = firstID
        self.octets = octets
        checksums = octets.withUnsafeReadableBytes { octets in
            let count = (octets.count + StoreLimits.chunkLength - 1) / StoreLimits.chunkLength
            return (0..<count).map { index in
                XXHash64.hash(Self.chunk(octets, index), seed: UInt64(bitPattern: firstID + Int64(index)))
            }
        }
    }

    static func chunk(_ octets: UnsafeRawBufferPointer, _ index: Int) -> UnsafeRawBufferPointer {
        let start = index * StoreLimits.chunkLength
        return UnsafeRawBufferPointer(rebasing: octets[start..<min(start + StoreLimits.chunkLength, octets.count)])
    }
}
