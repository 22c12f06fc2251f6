package import HTTPCache

/// Seals and opens purges for a log on a server that is not trusted, with AES-256-GCM (NIST SP
/// 800-38D). The server cannot read a URL, tag or key. It cannot forge or change a record.
///
/// ```
/// 1  version    1  key id    16  purge id    12  nonce    content    16  tag
/// ```
/// The bytes before the nonce, and the fleet's namespace, are authenticated with the content. So a
/// record of another fleet cannot be opened, even if both fleets have the same secret.
package struct LogSealer: Sendable {
    package typealias Fault = SealFault

    private let keys: SealingKeys
    private let namespace: FleetNamespace

    package init(keys: FleetKeys, namespace: FleetNamespace) {
        self.keys = keys.sealing(\.log)
        self.namespace = namespace
    }

    /// - Parameter generator: must be cryptographically secure. Reusing a nonce reveals content.
    /// - Throws: ``FleetLogError/limit(_:)`` for a selector of more than
    ///   ``HTTPCache/ScopeSelector/longest`` bytes.
    package func seal(
        _ record: PurgeRecord,
        using generator: inout some RandomNumberGenerator
    ) throws(FleetLogError) -> [UInt8] {
        guard record.selector.bytes.count <= ScopeSelector.longest else { throw .limit("selector") }
        let header = [SealedPurge.version, keys.present.id] + record.id.bytes
        let authenticated = authenticated(header[...])
        let box = try record.content.withUnsafeBytes {
            keys.seal($0, authenticating: authenticated, using: &generator)
        }
        .get()
        return header + box.nonce + box.content + box.tag
    }

    package func open(_ sealed: [UInt8]) throws(Fault) -> PurgeRecord {
        guard let id = SealedPurge.id(of: sealed) else { throw .malformed }
        let header = authenticated(sealed[..<SealedPurge.headerLength])
        let content = try sealed[SealedPurge.headerLength...].withUnsafeBytes {
            keys.open($0, keyID: sealed[1], authenticating: header)
        }
        .get()
        // The content was sealed with the right key. If it does not decode, it comes from a newer
        // version of this program.
        guard let record = PurgeRecord(id: id, content: content) else { throw .malformed }
        return record
    }

    private func authenticated(_ header: ArraySlice<UInt8>) -> [UInt8] {
        Array("holdfast log\0\(namespace)\0".utf8) + header
    }
}

/// The format of a sealed record.
package enum SealedPurge {
    static let version: UInt8 = 1
    static let headerLength = 18
    /// The effect, the kind of scope, two times, and a node name of one byte with its length.
    static let shortestContent = 20

    /// The maximum length of a record, in bytes.
    package static let longest =
        headerLength + SealingKeys.overhead + shortestContent + 63 + ScopeSelector.longest

    /// Returns the purge ID that a record claims, unverified; `nil` if the bytes are not a record.
    package static func id(of sealed: [UInt8]) -> PurgeID? {
        guard sealed.count >= headerLength + SealingKeys.overhead + shortestContent, sealed.count <= longest,
            sealed[0] == version
        else { return nil }
        return PurgeID(sealed[2..<headerLength])
    }
}
