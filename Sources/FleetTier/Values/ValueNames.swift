import Crypto
package import HTTPCacheSemantics
package import HTTPTypes

/// The name of a value on the server. It reveals no URL, tag or principal.
package struct ValueName: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var description: String { text }
}

/// 8 random bytes that distinguish the chunks of one body from all other chunks.
package struct BodyID: Sendable, Hashable {
    package let bits: UInt64

    package init(bits: UInt64) { self.bits = bits }

    package init(using generator: inout some RandomNumberGenerator) { bits = generator.next() }
}

/// Derives the names of a cache key's values, with a keyed digest that only the fleet's nodes can
/// compute.
package struct ValueNamer: Sendable {
    private let namespace: FleetNamespace
    private let present: SymmetricKey
    private let previous: SymmetricKey?

    package init(keys: FleetKeys, namespace: FleetNamespace) {
        self.namespace = namespace
        present = keys.present.names
        previous = (keys.previous ?? keys.former)?.names
    }

    /// Returns the names under which a key's values are put and found.
    package func names(of key: StoreKey) -> ValueNames { ValueNames(key, namespace, present) }

    /// Returns the names of a key's values under the previous secret; `nil` if there is none. No
    /// value is put under these names.
    package func previousNames(of key: StoreKey) -> ValueNames? {
        previous.map { ValueNames(key, namespace, $0) }
    }
}

/// The names of one cache key's values. They share a hash tag, so a cluster keeps them in one slot.
///
/// ```
/// hf1:NAMESPACE:{KEY}:e              the envelope, or the list of its variants
/// hf1:NAMESPACE:{KEY}:v:VARIANT      the envelope of a variant
/// hf1:NAMESPACE:{KEY}:c:BODY:INDEX   a chunk of a body
/// hf1:NAMESPACE:{KEY}:l              the lease
/// ```
package struct ValueNames: Sendable {
    private let base: String
    private let secret: SymmetricKey

    fileprivate init(_ key: StoreKey, _ namespace: FleetNamespace, _ secret: SymmetricKey) {
        base = "hf1:\(namespace):{\(Self.digest("key", key.bytes, secret))}:"
        self.secret = secret
    }

    /// The name of the envelope of a response without `Vary`, or of a ``VaryList``.
    package var envelope: ValueName { ValueName(base + "e") }
    /// The name of the lease.
    package var lease: ValueName { ValueName(base + "l") }

    /// Returns the name of a variant's envelope.
    ///
    /// Equal names mean equal selecting fields. `CachePolicy.matchesVariant` still decides whether
    /// the response may be used.
    ///
    /// - Parameters:
    ///   - names: the field names in `Vary`, in lower case; order and duplicates do not matter.
    ///   - fields: the request's selecting fields: see `CachePolicy.selectingFields`. Other fields
    ///     are ignored.
    package func variant(_ names: [String], _ fields: HTTPFields) -> ValueName {
        var bytes: [UInt8] = []
        func append(_ part: some Collection<UInt8>) {
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: part.count >> (24 - 8 * $0)) }
            bytes += part
        }
        for name in Set(names).sorted() {
            append(name.utf8)
            let lines = fields.filter { $0.name.canonicalName == name }
            // An absent field differs from an empty one.
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: lines.count >> (24 - 8 * $0)) }
            for line in lines { line.withUnsafeBytesOfValue { append($0) } }
        }
        return ValueName(base + "v:" + Self.digest("variant", bytes, secret))
    }

    /// Returns the name of a chunk of a body.
    package func chunk(_ index: Int, of body: BodyID) -> ValueName {
        ValueName(base + "c:\(String(body.bits, radix: 16)):\(index)")
    }

    /// Returns the first 16 bytes of an HMAC-SHA-256 digest (RFC 2104), encoded as base64url (RFC
    /// 4648 §5).
    private static func digest(_ purpose: String, _ bytes: [UInt8], _ secret: SymmetricKey) -> String {
        var hmac = HMAC<SHA256>(key: secret)
        hmac.update(data: Array("\(purpose)\0".utf8))
        hmac.update(data: bytes)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in hmac.finalize().prefix(16) {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
