/// A JSON value of any kind. Integers of up to 64 bits keep all of their digits.
///
/// Use it for content without a model, and for the statuses of an envelope. You can write values as
/// Swift literals:
///
/// ```swift
/// let value: AnyJSON = ["code": 0, "data": ["ids": [9007199254740993]]]
/// print(value["data.ids[0]"] as Any)
/// ```
public indirect enum AnyJSON: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case boolean(Bool)
    /// An integer that fits in 64 bits with a sign.
    case integer(Int64)
    /// A larger integer that fits in 64 bits without a sign.
    case unsigned(UInt64)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([AnyJSON])
    /// An object.
    case object([String: AnyJSON])

    /// The value at a path; `nil` if there is none.
    public subscript(path: ValuePath) -> AnyJSON? {
        var value = self
        for step in path.steps {
            switch (value, step) {
            case (.object(let members), .name(let name)):
                guard let member = members[name] else { return nil }
                value = member
            case (.object(let members), .index(let index)):
                guard let member = members[String(index)] else { return nil }
                value = member
            case (.array(let elements), .index(let index)) where elements.indices.contains(index):
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// The members of an object; `nil` for other values.
    public var members: [String: AnyJSON]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The elements of an array; `nil` for other values.
    public var elements: [AnyJSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The text of a string, number or boolean; `nil` for other values.
    public var text: String? {
        switch self {
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .number(let value): String(value)
        case .string(let value): value
        case .null, .array, .object: nil
        }
    }
}

extension AnyJSON: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
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
    public init(arrayLiteral elements: AnyJSON...) { self = .array(elements) }
    /// An object. If a name occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (String, AnyJSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
