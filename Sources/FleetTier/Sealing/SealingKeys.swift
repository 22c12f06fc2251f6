import Crypto

/// The reason that sealed data cannot be opened.
package enum SealFault: Error, Sendable, Hashable {
    /// The data is too short, too long, or of another version.
    case malformed
    /// The data was sealed with an unknown secret.
    case unknownKey
    /// The data was not sealed by a node of this fleet, was changed, or was sealed for a different
    /// name or position.
    case forged
}

/// Seals with the current secret's key, and opens with the keys of the current, previous and next
/// secrets, using AES-256-GCM (NIST SP 800-38D). All data that a fleet seals goes through this
/// type.
struct SealingKeys: Sendable {
    struct Key: Sendable {
        let key: SymmetricKey
        /// Identifies the key, so that only matching keys are tried.
        let id: UInt8
    }

    static let nonceLength = 12
    static let tagLength = 16
    /// The number of bytes that sealing adds.
    static let overhead = nonceLength + tagLength

    let present: Key
    /// Keys that only open data.
    let others: [Key]

    /// The parts of sealed data.
    struct Box {
        var nonce: [UInt8]
        var content: [UInt8]
        var tag: [UInt8]
    }

    /// Seals content with the current key. Returns a result instead of throwing, because closures
    /// that lend bytes cannot throw typed errors.
    ///
    /// - Parameter generator: must be cryptographically secure. Reusing a nonce reveals content.
    func seal(
        _ content: UnsafeRawBufferPointer,
        authenticating header: [UInt8],
        using generator: inout some RandomNumberGenerator
    ) -> Result<Box, FleetLogError> {
        // Draw two numbers instead of one per byte, because each draw may be a system call.
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

    /// Opens sealed data that consists of nonce, content and tag, in this order.
    ///
    /// - Parameter id: the ID of the key that the data claims to be sealed with.
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
