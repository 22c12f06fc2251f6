import HTTPCacheSemantics

/// A prefix of the keys of objects that are removed together, in the encoding in which the store
/// records unfinished removals.
package struct ObjectPrefix: Sendable {
    /// The first byte of the encoding. The encodings that responses are compared with begin with
    /// other bytes.
    private static let form: UInt8 = 3
    /// ``form`` in SQL.
    package static let formLiteral = "x'03'"

    /// The form and the bytes.
    package let canonicalBytes: [UInt8]

    package init(_ bytes: [UInt8]) { canonicalBytes = [Self.form] + bytes }

    /// Returns whether an encoded prefix covers an object's key. Allocates no memory.
    package static func covers(_ encoding: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> Bool {
        encoding.first == form && key.starts(with: encoding.dropFirst())
    }
}
