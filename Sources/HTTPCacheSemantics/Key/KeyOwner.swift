/// A principal whose responses are removed together: those in every partition that it was named
/// for.
///
/// Responses in the common partition belong to all. The owner of responses to credentials without a
/// name is not known.
package struct KeyOwner: Sendable, Hashable {
    /// The principal as the caller named it. It is compared by its bytes.
    package let name: String

    package init(_ name: String) { self.name = name }

    /// The owner of a key's partition; `nil` if no principal was named.
    package init?(_ key: CacheKey) {
        guard let name = key.bytes.withUnsafeBytes({ Self.name(in: $0).map { String(decoding: $0, as: UTF8.self) } })
        else { return nil }
        self.name = name
    }

    /// Whether a key's partition is this principal's.
    package func covers(_ key: CacheKey) -> Bool {
        key.bytes.withUnsafeBytes { Self.name(in: $0)?.elementsEqual(name.utf8) ?? false }
    }

    /// Whether both are the same principal.
    package static func == (left: Self, right: Self) -> Bool { left.name.hasSameBytes(as: right.name) }

    /// Hashes the bytes that equality compares.
    package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: name) }
}

/// The encoding that a store keeps, beside those of ``TargetPrefix`` and ``TargetHost``.
extension KeyOwner {
    /// The first byte of the encoding. It is neither a ``CacheKey/version`` nor
    /// ``TargetHost/form``.
    static let form: UInt8 = 2

    /// ``form`` and the name, encoded as in a ``CacheKey``.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 4 + name.utf8.count)
        writer.write(byte: Self.form)
        writer.write(name)
        return writer.bytes
    }

    /// Compares the name behind ``form`` with the owner of a key. It allocates nothing.
    static func covers(owner: consuming CanonicalCursor, key: UnsafeRawBufferPointer) -> Bool {
        guard let own = owner.component(), let other = name(in: key) else { return false }
        return own.elementsEqual(other)
    }

    private static func name(in key: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
        var key = CanonicalCursor(key)
        guard key.byte() == CacheKey.version, let kind = key.byte() else { return nil }
        switch kind {
        case 1: return key.component()
        case 2:
            // A name and the digest, if the caller named a principal; else the digest alone.
            guard let value = key.component(), value.count > CacheKey.Partition.digestLength else { return nil }
            var cursor = CanonicalCursor(UnsafeRawBufferPointer(rebasing: value))
            guard let name = cursor.component(), cursor.remaining == CacheKey.Partition.digestLength else { return nil }
            return name
        default: return nil
        }
    }
}

extension CacheKey.Partition {
    /// The bytes of an HMAC of credentials.
    static let digestLength = 32

    /// The partition of a request with credentials that separate responses further, although the
    /// caller named a principal. The name stays readable, so that all responses of the principal
    /// can be removed.
    ///
    /// - Parameters:
    ///   - digest: an HMAC of 32 bytes.
    ///   - principal: the name; `nil` if there is none.
    package static func credentials(_ digest: [UInt8], of principal: String?) -> Self {
        guard let principal else { return .credentials(digest) }
        var writer = CanonicalWriter(capacity: 4 + principal.utf8.count)
        writer.write(principal)
        return .credentials(writer.bytes + digest)
    }
}
