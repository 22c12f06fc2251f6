#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts Codable values to bytes and back.
///
/// Equal values should have equal bytes, so that the store can recognize an unchanged value. To
/// achieve this, sort the keys.
public protocol ObjectCoder: Sendable {
    /// The media type of the encoded bytes, kept with each object; `cache-dump` shows it.
    var contentType: String { get }

    /// Encodes a value.
    ///
    /// - Throws: any error if the value cannot be encoded. The store wraps it in ``StoreError``
    ///   with `notEncodable`.
    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]

    /// Decodes a value.
    ///
    /// - Throws: any error if the bytes do not decode as this type. The store treats that as a
    ///   miss, and keeps the bytes.
    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}

/// JSON with sorted keys: the default coder.
///
/// Equal values have equal bytes, in every process.
public struct JSONObjectCoder: ObjectCoder {
    /// Creates a coder.
    public init() {}

    /// The media type of JSON, `application/json`.
    public var contentType: String { "application/json" }

    /// Encodes a value as JSON with sorted keys.
    ///
    /// - Throws: `EncodingError`, and errors of the value's own encoding.
    public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(value))
    }

    /// Decodes a value from JSON.
    ///
    /// - Throws: `DecodingError`, and errors of the type's own decoding.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}
