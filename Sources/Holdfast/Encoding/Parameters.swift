/// Named parameters of a request. They have no order: encoders write them sorted, nested ones too, so that the same parameters
/// are the same bytes, and so the same cache key, in every process.
public struct Parameters: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// The values by name.
    public var values: [String: ParameterValue]

    /// Parameters from a dictionary.
    public init(_ values: [String: ParameterValue] = [:]) {
        self.values = values
    }

    /// Of a name that is given twice, the last value counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        values = Dictionary(elements, uniquingKeysWith: { $1 })
    }

    /// The value of a name; `nil` where there is none.
    public subscript(name: String) -> ParameterValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Both; of a name in both, `other`'s value.
    public func merging(_ other: Parameters) -> Parameters {
        if other.values.isEmpty { return self }
        return Parameters(values.merging(other.values) { $1 })
    }

    /// In the order in which they are written: by the UTF-8 octets of their names.
    var sorted: [(name: String, value: ParameterValue)] {
        values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }
}

/// The value of a parameter. Numbers keep all their digits.
public indirect enum ParameterValue: Sendable, Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case string(String)
    case array([ParameterValue])
    case object(Parameters)

    /// An integer of any width; one beyond 64 bits becomes the string of its digits.
    public init(_ integer: some BinaryInteger) {
        if let value = Int64(exactly: integer) {
            self = .integer(value)
        } else if let value = UInt64(exactly: integer) {
            self = .unsigned(value)
        } else {
            self = .string(String(integer))
        }
    }

    /// A string that is no literal.
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
    /// An object; of a name that is given twice, the last value counts.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self = .object(Parameters(Dictionary(elements, uniquingKeysWith: { $1 })))
    }
}
