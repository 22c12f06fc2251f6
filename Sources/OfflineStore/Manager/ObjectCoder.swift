#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Turns Codable values into bytes and back.
///
/// The bytes of equal values should be equal, so that storing one twice can be told from a change:
/// sort keys.
public protocol ObjectCoder: Sendable {
    /// The media type of what it makes, kept with each object; `cache-dump` shows it.
    var contentType: String { get }

    /// The value's bytes.
    ///
    /// - Throws: any error when the value has none; the store wraps it in ``StoreError`` with
    ///   `notEncodable`.
    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]

    /// The value of some bytes.
    ///
    /// - Throws: any error when they are not of this type; to the store that is a miss, and the
    ///   bytes stay.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}

/// JSON with sorted keys: the default coder.
///
/// Equal values have equal bytes, in every process.
public struct JSONObjectCoder: ObjectCoder {
    /// Makes a coder.
    public init() {}

    /// The media type of JSON, `application/json`.
    public var contentType: String { "application/json" }

    /// The value as JSON, its keys sorted.
    ///
    /// - Throws: `EncodingError`, and what the value's own encoding throws.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }

    /// The value of some JSON.
    ///
    /// - Throws: `DecodingError`, and what the type's own decoding throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
