import Crypto

/// The reasons for which something sealed does not open.
package enum SealFault: Error, Sendable, Hashable {
    /// Too short, too long, or of another version.
    case malformed
    /// Sealed under a secret that is not known.
    case unknownKey
    /// Not made by a node of this fleet, or changed, or made for another place.
    case forged
}

/// Seals with the key of the present secret, and opens with those of the previous and the next one,
/// too:
/// AES-256-GCM (NIST SP 800-38D). All that a fleet seals goes through it.
struct SealingKeys: Sendable {
    struct Key: Sendable {
        let key: SymmetricKey
        /// Tells which key opens something, before it is tried.
        let id: UInt8
    }

    static let nonceLength = 12
    static let tagLength = 16
    /// The bytes by which sealed content is longer.
    static let overhead = nonceLength + tagLength

    let present: Key
    /// Open alone.
    let others: [Key]

    /// The parts of something sealed.
    struct Box {
        var nonce: [UInt8]
        var content: [UInt8]
        var tag: [UInt8]
    }

    /// The results are values, because the closures that lend bytes do not throw typed errors.
    ///
    /// - Parameter generator: must be a secure one. A nonce that is used twice reveals content.
    func seal(
        _ content: UnsafeRawBufferPointer,
        authenticating header: [UInt8],
        using generator: inout some RandomNumberGenerator
    ) -> Result<Box, SharedLogError> {
        // Two numbers and not one for each byte: each may be a call of the system.
        let random: [UInt64] = [generator.next(), generator.next()]
        let nonce = (0..<Self.nonceLength).map { UInt8(truncatingIfNeeded: random[$0 / 8] >> ($0 % 8 * 8)) }
        do {
            let box = try AES.GCM.seal(
                content,
                using: present.key,
                nonce: AES.GCM.Nonce(data: nonce),
                authenticating: header
            )
            return .success(Box(nonce: nonce, content: Array(box.ciphertext), tag: Array(box.tag)))
        } catch {
            return .failure(.malformed("content that cannot be sealed"))
        }
    }

    /// Opens nonce, content and tag, in this order.
    ///
    /// - Parameter id: of the key under which they are said to be sealed.
    func open(
        _ combined: UnsafeRawBufferPointer,
        keyID id: UInt8,
        authenticating header: [UInt8]
    ) -> Result<[UInt8], SealFault> {
        guard combined.count >= Self.overhead else { return .failure(.malformed) }
        let candidates = ([present] + others).filter { $0.id == id }
        guard !candidates.isEmpty else { return .failure(.unknownKey) }
        guard let box = try? AES.GCM.SealedBox(combined: combined) else { return .failure(.forged) }
        for candidate in candidates {
            if let content = try? AES.GCM.open(box, using: candidate.key, authenticating: header) {
                return .success(Array(content))
            }
        }
        return .failure(.forged)
    }
}
