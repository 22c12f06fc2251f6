/// A principal whose responses can be removed together, from all partitions for which the principal
/// was named. A job owns the responses of its partition in the same way.
///
/// Responses in the common partition have no owner. For credentials without a named principal, the
/// owner is not known.
package struct KeyOwner: Sendable, Hashable {
    /// The principal's name, as given by the caller, or the job's. Names are compared by their
    /// bytes.
    package let name: String

    package init(_ name: String) { self.name = name }

    /// Creates the owner of a key's partition; `nil` if no principal was named.
    package init?(_ key: StoreKey) {
        guard let name = key.bytes.withUnsafeBytes({ Self.name(in: $0).map { String(decoding: $0, as: UTF8.self) } })
        else { return nil }
        self.name = name
    }

    /// Returns whether a key's partition belongs to this principal.
    package func covers(_ key: StoreKey) -> Bool {
        key.bytes.withUnsafeBytes { Self.name(in: $0)?.elementsEqual(name.utf8) ?? false }
    }

    /// Returns whether both are the same principal.
    package static func == (left: Self, right: Self) -> Bool { left.name.hasSameBytes(as: right.name) }

    /// Hashes the bytes that equality compares.
    package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: name) }
}

/// The encoding that a store keeps. ``TargetPrefix`` and ``TargetHost`` have encodings for the same
/// purpose.
extension KeyOwner {
    /// The first byte of the encoding. It is neither a ``StoreKey/version`` nor
    /// ``TargetHost/form``.
    static let form: UInt8 = 2

    /// The encoding: ``form``, then the name as encoded in a ``StoreKey``.
    package var canonicalBytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 4 + name.utf8.count)
        writer.write(byte: Self.form)
        writer.write(name)
        return writer.bytes
    }

    /// Compares the name after ``form`` with the owner of a key, without allocating memory.
    static func covers(owner: consuming CanonicalCursor, key: UnsafeRawBufferPointer) -> Bool {
        guard let own = owner.component(), let other = name(in: key) else { return false }
        return own.elementsEqual(other)
    }

    private static func name(in key: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
        var key = CanonicalCursor(key)
        guard key.byte() == StoreKey.version, let kind = key.byte() else { return nil }
        switch kind {
        case 1, 3: return key.component()
        case 2:
            // The value is a name and a digest if the caller named a principal; otherwise only a
            // digest.
            guard let value = key.component(), value.count > StoreKey.Partition.digestLength else { return nil }
            var cursor = CanonicalCursor(UnsafeRawBufferPointer(rebasing: value))
            guard let name = cursor.component(), cursor.remaining == StoreKey.Partition.digestLength else { return nil }
            return name
        default: return nil
        }
    }
}

extension StoreKey.Partition {
    /// The length of an HMAC of credentials, in bytes.
    static let digestLength = 32

    /// Returns the partition of a request whose credentials separate its responses. If the caller
    /// also named a principal, the name stays readable, so that all of the principal's responses
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
