/// An integer that is exact whether it is sent as a number or as a string.
///
/// Identifiers of 64 bits are sent as strings by APIs whose other clients know only doubles, and
/// some send either:
///
/// ```swift
/// struct Moment: Codable {
///     @ExactInteger var id: Int64             // 9007199254740993 or "9007199254740993"
///     @ExactInteger var replyTo: Int64?       // also missing or null
/// }
/// ```
///
/// A number that does not fit is an error, never rounded. Encoded, it is a number.
@propertyWrapper
public struct ExactInteger<Value: ExactlyDecodable> {
    /// The integer.
    public var wrappedValue: Value

    /// An integer.
    public init(wrappedValue: Value) {
        self.wrappedValue = wrappedValue
    }
}

/// An integer, or an optional one, that ``ExactInteger`` reads: `Int`, `Int64`, `Int32`, `UInt`,
/// `UInt64`, `UInt32`.
public protocol ExactlyDecodable: Codable {
    /// Reads a number, or a string of digits with at most a minus sign before them.
    ///
    /// - Throws: `DecodingError`: it is neither, or does not fit.
    static func decodeExactly(from decoder: any Decoder) throws -> Self
    /// What a missing member is; `nil` where it must be there.
    static var valueOfNothing: Self? { get }
}

extension ExactlyDecodable {
    /// It must be there.
    public static var valueOfNothing: Self? { nil }
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
                // A number that does not fit: `JSONDecoder` does not say where.
                value = nil
            }
        }
        guard let value else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "There is no exact '\(Self.self)'.")
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
    /// No integer.
    public static var valueOfNothing: Wrapped?? { .some(nil) }
}

extension ExactInteger: Decodable {
    /// Reads a number or a string of digits.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try Value.decodeExactly(from: decoder)
    }
}

extension ExactInteger: Encodable {
    /// As a number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    /// Reads an integer; where it is missing or null, an optional one is `nil`.
    public func decode<Value>(_ type: ExactInteger<Value>.Type, forKey key: Key) throws -> ExactInteger<Value> {
        if let value = try decodeIfPresent(type, forKey: key) { return value }
        if let nothing = Value.valueOfNothing { return ExactInteger(wrappedValue: nothing) }
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
