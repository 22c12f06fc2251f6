#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ParameterValue {
    /// Creates the JSON value that an `Encodable` value encodes to.
    ///
    /// Dates become ISO 8601 in UTC with whole seconds; use ``date(_:as:)`` for other formats. A
    /// `Decimal` with more digits than a `Double` can represent becomes a string of digits; inside
    /// another value, such as a structure, it is rounded.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if the value throws an error or
    ///   contains a number that is not finite.
    public init(encoding value: any Encodable) throws {
        switch value {
        case let value as String: self = .string(value)
        case let value as Bool: self = .boolean(value)
        case let value as Int: self = .integer(Int64(value))
        case let value as any BinaryInteger: self.init(value)
        case let value as Double: self = .number(value)
        case let value as ParameterValue: self = value
        case let value as RequestParameters: self = .object(value)
        case let value as Date: self = .date(value)
        case let value as Decimal: self.init(value)
        default:
            let json = try JSONContentEncoder().encode(value)
            self = try JSONDecoder().decode(ParameterValue.self, from: json)
        }
    }

    private init(_ decimal: Decimal) {
        let digits = "\(decimal)"
        if decimal.isNaN {
            self = .number(.nan)
        } else if let value = Int64(digits) {
            self = .integer(value)
        } else if let value = Double(digits), Decimal(string: "\(value)") == decimal {
            self = .number(value)
        } else {
            self = .string(digits)
        }
    }
}

// These members allow `.null` and `.object([…])` in a literal of `RequestParameters`. They are
// disfavored, so that `ParameterValue`'s own cases are used where a `ParameterValue` is expected.
extension Encodable where Self == ParameterValue {
    /// JSON's `null`. A query omits it.
    @_disfavoredOverload
    public static var null: ParameterValue { .null }
    /// A boolean.
    @_disfavoredOverload
    public static func boolean(_ value: Bool) -> ParameterValue { .boolean(value) }
    /// An integer.
    @_disfavoredOverload
    public static func integer(_ value: Int64) -> ParameterValue { .integer(value) }
    /// An integer beyond `Int64.max`.
    @_disfavoredOverload
    public static func unsigned(_ value: UInt64) -> ParameterValue { .unsigned(value) }
    /// A number.
    @_disfavoredOverload
    public static func number(_ value: Double) -> ParameterValue { .number(value) }
    /// A string.
    @_disfavoredOverload
    public static func string(_ value: String) -> ParameterValue { .string(value) }
    /// An array of values of different types.
    @_disfavoredOverload
    public static func array(_ values: [ParameterValue]) -> ParameterValue { .array(values) }
    /// An object whose members can have different types.
    @_disfavoredOverload
    public static func object(_ parameters: RequestParameters) -> ParameterValue { .object(parameters) }
}
