/// An exact integer that an API may send as a number or as a string.
///
/// Some APIs send 64-bit identifiers as strings, because some clients represent all numbers as
/// doubles. Other APIs send either form:
///
/// ```swift
/// struct Moment: Codable {
///     @ExactInteger var id: Int64             // 9007199254740993 or "9007199254740993"
///     @ExactInteger var replyTo: Int64?       // also missing or null
/// }
/// ```
///
/// A number that does not fit is an error; it is never rounded. The integer is encoded as a number.
@propertyWrapper
public struct ExactInteger<Value: ExactlyDecodable> {
    /// The integer.
    public var wrappedValue: Value

    /// Creates an integer.
    public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }
}

/// An integer type, or an optional of it, that ``ExactInteger`` reads: `Int`, `Int64`, `Int32`,
/// `UInt`, `UInt64`, `UInt32`.
public protocol ExactlyDecodable: Codable {
    /// Reads a number, or a string of digits with an optional minus sign.
    ///
    /// - Throws: `DecodingError` if the value is neither, or does not fit.
    static func decodeExactly(from decoder: any Decoder) throws -> Self
    /// The value of a missing member; `nil` if the member is required.
    static var missingValue: Self? { get }
}

extension ExactlyDecodable {
    /// `nil`, because the member is required.
    public static var missingValue: Self? { nil }
}

extension ExactlyDecodable where Self: FixedWidthInteger {
    /// Reads a number or a string of digits.
    public static func decodeExactly(from decoder: any Decoder) throws -> Self {
        let container = try decoder.singleValueContainer()
        let value: Self?
        if let text = try? container.decode(String.self) {
            value = text.first == "+" ? nil : Self(text)
        } else {
            do {
                value = try container.decode(Self.self)
            } catch DecodingError.typeMismatch(let type, let context) {
                throw DecodingError.typeMismatch(type, context)
            } catch {
                // The number does not fit; `JSONDecoder` does not report the location.
                value = nil
            }
        }
        guard let value else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The value is not an exact '\(Self.self)'."
            )
        }
        return value
    }
}

extension Int: ExactlyDecodable {}
extension Int64: ExactlyDecodable {}
extension Int32: ExactlyDecodable {}
extension UInt: ExactlyDecodable {}
extension UInt64: ExactlyDecodable {}
extension UInt32: ExactlyDecodable {}

extension Optional: ExactlyDecodable where Wrapped: ExactlyDecodable {
    /// Reads an integer, or null.
    public static func decodeExactly(from decoder: any Decoder) throws -> Wrapped? {
        try decoder.singleValueContainer().decodeNil() ? nil : Wrapped.decodeExactly(from: decoder)
    }
    /// `nil`, because the member is optional.
    public static var missingValue: Wrapped?? { .some(nil) }
}

extension ExactInteger: Decodable {
    /// Reads a number or a string of digits.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try Value.decodeExactly(from: decoder)
    }
}

extension ExactInteger: Encodable {
    /// Encodes a number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    /// Decodes an integer. If it is missing or null, an optional integer becomes `nil`.
    public func decode<Value>(_ type: ExactInteger<Value>.Type, forKey key: Key) throws -> ExactInteger<Value> {
        if let value = try decodeIfPresent(type, forKey: key) { return value }
        if let missing = Value.missingValue { return ExactInteger(wrappedValue: missing) }
        guard !contains(key) else {
            throw DecodingError.valueNotFound(
                Value.self,
                DecodingError.Context(codingPath: codingPath + [key], debugDescription: "An integer was expected.")
            )
        }
        throw DecodingError.keyNotFound(
            key,
            DecodingError.Context(codingPath: codingPath, debugDescription: "An integer was expected.")
        )
    }
}

extension ExactInteger: Sendable where Value: Sendable {}
extension ExactInteger: Equatable where Value: Equatable {}
extension ExactInteger: Hashable where Value: Hashable {}
