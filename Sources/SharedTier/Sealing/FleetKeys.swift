import Crypto

/// The keys of a fleet, derived from the secret that its nodes share (HKDF-SHA-256, RFC 5869). A
/// key serves one purpose. Its description has nothing of the secret.
package struct FleetKeys: Sendable, CustomStringConvertible, CustomReflectable {
    /// The shortest secret, in bytes.
    package static let shortestSecret = 32

    struct SealingKey: Sendable {
        let key: SymmetricKey
        /// Tells which key opens a record, before it is tried.
        let id: UInt8
    }

    /// Seals and opens.
    let present: SealingKey
    /// Opens alone, until all nodes have the new secret and the log no old record.
    let previous: SealingKey?

    /// - Parameter previous: the secret that was replaced.
    /// - Returns: `nil` if a secret is shorter than ``shortestSecret``.
    package init?(secret: [UInt8], previous: [UInt8]? = nil) {
        guard secret.count >= Self.shortestSecret, previous.map({ $0.count >= Self.shortestSecret }) ?? true else {
            return nil
        }
        present = SealingKey(secret)
        self.previous = previous.map { SealingKey($0) }
    }

    package var description: String { "keys of a fleet" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension FleetKeys.SealingKey {
    fileprivate init(_ secret: [UInt8]) {
        let material = SymmetricKey(data: secret)
        func derive(_ purpose: String, _ length: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: material,
                salt: Array("holdfast fleet 1".utf8),
                info: Array(purpose.utf8),
                outputByteCount: length
            )
        }
        key = derive("seal log", 32)
        id = derive("id", 1).withUnsafeBytes { $0.first ?? 0 }
    }
}
