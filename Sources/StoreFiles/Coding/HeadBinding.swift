/// The numbers of the row that a head belongs to. The head's checksum covers them.
///
/// Without this, a damaged body number in a row could lead to another request's body, whose chunks
/// are all intact.
package struct HeadBinding: Sendable, Hashable {
    /// The kind of thing that a head describes; the second byte of every head.
    package enum Kind: UInt8, Sendable {
        case response = 0
        case object = 1
    }

    package var entryID: Int64
    package var keyHash: Int64
    package var bodyID: Int64
    package var bodyLength: Int64

    package init(entryID: Int64, keyHash: Int64, bodyID: Int64, bodyLength: Int64) {
        self.entryID = entryID
        self.keyHash = keyHash
        self.bodyID = bodyID
        self.bodyLength = bodyLength
    }

    /// The seed of the head's checksum.
    var seed: UInt64 {
        withUnsafeBytes(of: (entryID.littleEndian, keyHash.littleEndian, bodyID.littleEndian, bodyLength.littleEndian))
        {
            XXHash64.hash($0)
        }
    }

    /// Returns a head's content with the checksum that ties it to its row.
    package func sealing(_ content: consuming [UInt8]) -> [UInt8] {
        let checksum = XXHash64.hash(content, seed: seed)
        withUnsafeBytes(of: checksum.littleEndian) { content.append(contentsOf: $0) }
        return content
    }

    /// Returns the bytes before the checksum; `nil` if the checksum does not match.
    static func verified(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UnsafeRawBufferPointer? {
        guard bytes.count >= 8 else { return nil }
        let content = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 8)])
        let checksum = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: content.count, as: UInt64.self))
        return XXHash64.hash(content, seed: seed) == checksum ? content : nil
    }
}
