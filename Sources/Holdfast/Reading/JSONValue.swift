/// A JSON value of whatever form. Integers of up to 64 bits keep all their digits.
///
/// For content without a model, and for what an envelope calls a success: the literals of Swift are
/// values.
///
/// ```swift
/// let answer: JSONValue = ["code": 0, "data": ["ids": [9007199254740993]]]
/// print(answer["data.ids[0]"] as Any)
/// ```
public indirect enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case boolean(Bool)
    /// A number without a fraction, as far as 64 bits with a sign go.
    case integer(Int64)
    /// A number without a fraction beyond ``integer(_:)``, as far as 64 bits go.
    case unsigned(UInt64)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// The value at a path; `nil` where there is none.
    public subscript(path: ValuePath) -> JSONValue? {
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

    /// What is in an object; `nil` for the others.
    public var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// What is in an array; `nil` for the others.
    public var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// A string as it is, a number or a boolean as it is written; `nil` for the others.
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

extension JSONValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A number without a fraction.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of a name that is given twice, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
