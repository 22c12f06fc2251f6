import HTTPCacheSemantics

/// The first bytes of the keys of objects that are removed together, in the encoding that the store
/// keeps with unfinished removals.
struct ObjectPrefix: Sendable {
    /// The first byte of the encoding. No encoding that is compared with responses begins with it.
    private static let form: UInt8 = 3
    /// ``form`` in SQL.
    static let formLiteral = "x'03'"

    /// The form and the bytes.
    let canonicalBytes: [UInt8]

    init(_ bytes: [UInt8]) { canonicalBytes = [Self.form] + bytes }

    /// Returns whether an encoding is that of a prefix of an object's key. It allocates nothing.
    static func covers(_ encoding: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> Bool {
        encoding.first == form && key.starts(with: encoding.dropFirst())
    }
}

extension EntryKind {
    /// Returns whether an encoding in the table `prefix_invalidation` covers the key of an entry of
    /// this kind.
    package func covers(_ key: UnsafeRawBufferPointer, byPrefix encoding: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .response: TargetPrefix.covers(prefix: encoding, key: key)
        case .object: ObjectPrefix.covers(encoding, key)
        }
    }
}
