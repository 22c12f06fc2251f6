import Crypto
package import HTTPCache

/// Seals purges for a log whose engine is not trusted, and opens them: AES-256-GCM (NIST SP
/// 800-38D). The engine sees no URL, tag or key, and cannot make or change a record.
///
/// ```
/// 1  version    1  key id    16  purge id    12  nonce    content    16  tag
/// ```
/// The bytes before the nonce and the fleet's namespace are authenticated with the content, so that
/// a record of another fleet with the same secret does not open.
package struct LogSealer: Sendable {
    /// The reasons for which a record does not open.
    package enum Fault: Error, Sendable, Hashable {
        /// Too short, too long, or of another version.
        case malformed
        /// Sealed under a secret that is not known.
        case unknownKey
        /// Not made by a node of this fleet, or changed.
        case forged
    }

    private let keys: FleetKeys
    private let namespace: FleetNamespace

    package init(keys: FleetKeys, namespace: FleetNamespace) {
        self.keys = keys
        self.namespace = namespace
    }

    /// - Parameter generator: must be a secure one. A nonce that is used twice reveals content.
    /// - Throws: ``SharedLogError/limit(_:)`` for a selector of more than
    ///   ``HTTPCache/ScopeSelector/longest`` bytes.
    package func seal(
        _ record: PurgeRecord,
        using generator: inout some RandomNumberGenerator
    ) throws(SharedLogError) -> [UInt8] {
        guard record.selector.bytes.count <= ScopeSelector.longest else { throw .limit("selector") }
        let header = [SealedPurge.version, keys.present.id] + record.id.bytes
        // Two numbers and not one for each byte: each may be a call of the system.
        let random: [UInt64] = [generator.next(), generator.next()]
        let nonce = (0..<SealedPurge.nonceLength).map { UInt8(truncatingIfNeeded: random[$0 / 8] >> ($0 % 8 * 8)) }
        do {
            let box = try AES.GCM.seal(
                record.content,
                using: keys.present.key,
                nonce: AES.GCM.Nonce(data: nonce),
                authenticating: authenticated(header[...])
            )
            return header + nonce + box.ciphertext + box.tag
        } catch {
            throw .malformed("a record that cannot be sealed")
        }
    }

    package func open(_ sealed: [UInt8]) throws(Fault) -> PurgeRecord {
        guard let id = SealedPurge.id(of: sealed) else { throw .malformed }
        let candidates = [keys.present, keys.previous].compactMap { $0 }.filter { $0.id == sealed[1] }
        guard !candidates.isEmpty else { throw .unknownKey }
        let header = sealed[..<SealedPurge.headerLength]
        for candidate in candidates {
            // Nonce, content and tag, in this order.
            guard let box = try? AES.GCM.SealedBox(combined: sealed[SealedPurge.headerLength...]),
                let content = try? AES.GCM.open(box, using: candidate.key, authenticating: authenticated(header))
            else { continue }
            // Only a newer version of this program seals what does not decode.
            guard let record = PurgeRecord(id: id, content: Array(content)) else { throw .malformed }
            return record
        }
        throw .forged
    }

    private func authenticated(_ header: ArraySlice<UInt8>) -> [UInt8] {
        Array("holdfast log\0\(namespace)\0".utf8) + header
    }
}

/// The form of a sealed record.
package enum SealedPurge {
    static let version: UInt8 = 1
    static let headerLength = 18
    static let nonceLength = 12
    static let tagLength = 16
    /// Kind, scope, time, and a name of one byte with its length.
    static let shortestContent = 12

    /// The longest record, in bytes.
    package static let longest =
        headerLength + nonceLength + tagLength + shortestContent + 63 + ScopeSelector.longest

    /// The purge that a record claims to be, without a check; `nil` if it is none.
    package static func id(of sealed: [UInt8]) -> PurgeID? {
        guard sealed.count >= headerLength + nonceLength + shortestContent + tagLength, sealed.count <= longest,
            sealed[0] == version
        else { return nil }
        return PurgeID(sealed[2..<headerLength])
    }
}
