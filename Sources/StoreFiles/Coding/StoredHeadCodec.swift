import HTTPCache
package import HTTPCacheSemantics

/// The encoding of a stored response's head on disk: ``HTTPCache/HeadCodec`` plus a checksum.
///
/// The checksum's seed is derived from the numbers of the head's row (see ``HeadBinding``), so a
/// row with damaged numbers cannot attach its head to another body. Decoding has no side effects,
/// returns `nil` for damaged input, and never traps.
package enum StoredHeadCodec {
    /// The version of the encoding; the first byte.
    package static let version = HeadCodec.version

    /// Encodes a head for its row.
    package static func encode(_ head: StoredResponseHead, binding: HeadBinding) -> [UInt8] {
        binding.sealing(HeadCodec.encode(head))
    }

    /// Decodes a head that was read from its row; returns `nil` if the head is damaged, is of an
    /// unknown version, or belongs to another row.
    package static func decode(_ bytes: UnsafeRawBufferPointer, binding: HeadBinding) -> StoredResponseHead? {
        HeadBinding.verified(bytes, seed: binding.seed).flatMap { HeadCodec.decode($0) }
    }

    /// Decodes a head that was read from its row: see the other method.
    package static func decode(_ bytes: [UInt8], binding: HeadBinding) -> StoredResponseHead? {
        bytes.withUnsafeBytes { decode($0, binding: binding) }
    }
}
