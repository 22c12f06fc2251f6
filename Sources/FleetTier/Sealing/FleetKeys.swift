import Crypto

/// The keys of a fleet, derived from the secret that its nodes share (HKDF-SHA-256, RFC 5869). Each
/// key has one purpose. The description reveals nothing about the secret.
package struct FleetKeys: Sendable, CustomStringConvertible, CustomReflectable {
    /// The minimum length of a secret, in bytes.
    package static let shortestSecret = 32

    /// The keys derived from one secret.
    struct Keys: Sendable {
        /// Identifies the secret, so that only matching keys are tried.
        let id: UInt8
        /// Seals entries of the log.
        let log: SymmetricKey
        /// Seals responses and the chunks of their bodies.
        let responses: SymmetricKey
        /// Derives the names of responses.
        let names: SymmetricKey
    }

    /// The current secret's keys, which seal and open data.
    let present: Keys
    /// The previous secret's keys, which only open data. They are needed until all nodes have the
    /// new secret and the log has no record that was sealed with the previous secret.
    let previous: Keys?
    /// The next secret's keys, which only open data, so that no node seals data that another node
    /// cannot open during the rotation.
    let next: Keys?
    /// The keys of the secret that was replaced while the program runs, which only open data.
    let former: Keys?

    /// - Parameters:
    ///   - previous: the secret that `secret` replaced; `nil` if there is none.
    ///   - next: the secret that will replace `secret`; `nil` if there is none.
    ///   - former: the secret that `secret` replaced while the program runs; `nil` if it replaced
    ///     none.
    /// - Returns: `nil` if a secret is shorter than ``shortestSecret``.
    package init?(secret: [UInt8], previous: [UInt8]? = nil, next: [UInt8]? = nil, former: [UInt8]? = nil) {
        let all = [secret, previous, next, former].compactMap(\.self)
        guard all.allSatisfy({ $0.count >= Self.shortestSecret }) else { return nil }
        present = Keys(secret)
        self.previous = previous.map { Keys($0) }
        self.next = next.map { Keys($0) }
        self.former = former.map { Keys($0) }
    }

    /// Returns the keys that seal data for one purpose.
    func sealing(_ purpose: KeyPath<Keys, SymmetricKey>) -> SealingKeys {
        SealingKeys(
            present: SealingKeys.Key(key: present[keyPath: purpose], id: present.id),
            others: [previous, former, next].compactMap { $0 }.map {
                SealingKeys.Key(key: $0[keyPath: purpose], id: $0.id)
            }
        )
    }

    package var description: String { "keys of a fleet" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension FleetKeys.Keys {
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
        id = derive("id", 1).withUnsafeBytes { $0.first ?? 0 }
        log = derive("seal log", 32)
        responses = derive("seal responses", 32)
        names = derive("name", 32)
    }
}
