/// The value of a parameter. Integers keep all of their digits.
///
/// It is not an ``AnyJSON``, because its objects are ``RequestParameters``: they take any
/// `Encodable` value, they fail only when the request is made, and their names follow the strategy
/// of an encoder or decoder. The names in an `AnyJSON` never change.
public indirect enum ParameterValue: Sendable, Hashable {
    /// JSON's `null`. A query omits it.
    case null
    /// A boolean. A ``URLParameterEncoder`` chooses its form in a query.
    case boolean(Bool)
    /// An integer.
    case integer(Int64)
    /// An integer beyond `Int64.max`.
    case unsigned(UInt64)
    /// A number that is not an integer.
    case number(Double)
    /// A string.
    case string(String)
    /// Values in their order. They may have different types.
    case array([ParameterValue])
    /// Named values. They may have different types.
    case object(RequestParameters)

    /// Creates a value from an integer of any width. An integer beyond 64 bits becomes a string of
    /// digits.
    public init(_ integer: some BinaryInteger) {
        if let value = Int64(exactly: integer) {
            self = .integer(value)
        } else if let value = UInt64(exactly: integer) {
            self = .unsigned(value)
        } else {
            self = .string(String(integer))
        }
    }

    /// Creates a value from a string that is not a literal.
    public init(_ string: some StringProtocol) { self = .string(String(string)) }
}

extension ParameterValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// An array.
    public init(arrayLiteral elements: ParameterValue...) { self = .array(elements) }
    /// An object. If a name occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .object(RequestParameters(Dictionary(elements, uniquingKeysWith: { $1 })))
    }
}
