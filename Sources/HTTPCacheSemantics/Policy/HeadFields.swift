package import HTTPTypes
import Synchronization

/// The fields of a stored head: as they are, or as the bytes that they become when somebody asks
/// for them.
///
/// A batch is read for its bodies as often as for its fields, and making fields takes longer than
/// reading their bytes.
package struct HeadFields: Sendable, Hashable {
    private enum Content: Sendable {
        case made(HTTPFields)
        case encoded(EncodedFields)
    }

    private let content: Content

    /// Fields as they are.
    package init(_ fields: HTTPFields) { content = .made(fields) }

    /// Fields that are made at the first use.
    package init(_ encoded: EncodedFields) { content = .encoded(encoded) }

    /// The fields.
    package var value: HTTPFields {
        switch content {
        case .made(let fields): fields
        case .encoded(let encoded): encoded.fields
        }
    }

    /// Their bytes, where they came as such.
    package var encoded: EncodedFields? {
        switch content {
        case .made: nil
        case .encoded(let encoded): encoded
        }
    }

    /// Whether the fields are the same, however they are held.
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.value == rhs.value }

    /// By the fields.
    package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Bytes that fields are made of: once, for all copies of a head.
package final class EncodedFields: Sendable {
    /// A store's encoding, whose structure was verified when it was read.
    package let bytes: [UInt8]
    /// How many fields it holds.
    package let count: Int
    private let decode: @Sendable ([UInt8]) -> HTTPFields
    private let made = AtomicLazyReference<Made>()

    private final class Made: Sendable {
        let fields: HTTPFields
        init(_ fields: HTTPFields) { self.fields = fields }
    }

    /// - Parameter decode: makes the fields of the bytes; of the same bytes always the same.
    package init(bytes: [UInt8], count: Int, decode: @escaping @Sendable ([UInt8]) -> HTTPFields) {
        self.bytes = bytes
        self.count = count
        self.decode = decode
    }

    /// The fields; of two who ask first at the same time, both get the same.
    package var fields: HTTPFields {
        if let made = made.load() { return made.fields }
        return made.storeIfNil(Made(decode(bytes))).fields
    }
}
