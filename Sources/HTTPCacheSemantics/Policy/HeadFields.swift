package import HTTPTypes
import Synchronization

/// The fields of a stored head, either decoded or as bytes that are decoded on first use.
///
/// Decoding fields takes longer than reading their bytes, and many readers need only the bodies.
package struct HeadFields: Sendable, Hashable {
    private enum Content: Sendable {
        case made(HTTPFields)
        case encoded(EncodedFields)
    }

    private let content: Content

    /// Wraps decoded fields.
    package init(_ fields: HTTPFields) { content = .made(fields) }

    /// Wraps fields that are decoded on first use.
    package init(_ encoded: EncodedFields) { content = .encoded(encoded) }

    /// The fields, decoded if necessary.
    package var value: HTTPFields {
        switch content {
        case .made(let fields): fields
        case .encoded(let encoded): encoded.fields
        }
    }

    /// The bytes, if the fields were created from bytes.
    package var encoded: EncodedFields? {
        switch content {
        case .made: nil
        case .encoded(let encoded): encoded
        }
    }

    /// Returns whether the fields are the same, in either form.
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.value == rhs.value }

    /// Hashes the decoded fields.
    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Encoded fields that are decoded once for all copies of a head.
package final class EncodedFields: Sendable {
    /// The store's encoding, whose structure was verified when it was read.
    package let bytes: [UInt8]
    /// The number of fields.
    package let count: Int
    private let decode: @Sendable ([UInt8]) -> HTTPFields
    /// The address of the decoded fields, which this object retains; 0 until they are decoded.
    ///
    /// Not the standard library's lazy reference: it looks up the metadata of its type on each
    /// load, which takes several times as long as the load, and a hit loads the fields five times.
    private let made = Atomic<UInt>(0)

    private final class Made: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    /// - Parameter decode: decodes the fields. Equal bytes must give equal fields.
    package init(bytes: [UInt8], count: Int, decode: @escaping @Sendable ([UInt8]) -> HTTPFields) {
        self.bytes = bytes
        self.count = count
        self.decode = decode
    }

    deinit { Self.reference(made.load(ordering: .acquiring))?.release() }

    /// The decoded fields. Two concurrent first callers get the same value.
    package var fields: HTTPFields {
        if let made = Self.reference(made.load(ordering: .acquiring)) { return made.takeUnretainedValue().fields }
        let new = Unmanaged.passRetained(Made(decode(bytes)))
        let (isFirst, first) = made.compareExchange(
            expected: 0,
            desired: UInt(bitPattern: new.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        defer { if !isFirst { new.release() } }
        return (isFirst ? new : Self.reference(first) ?? new).takeUnretainedValue().fields
    }

    /// Safe: an address other than 0 is that of a `Made` that is retained until `deinit`.
    private static func reference(_ address: UInt) -> Unmanaged<Made>? {
        UnsafeRawPointer(bitPattern: address).map { .fromOpaque($0) }
    }
}
