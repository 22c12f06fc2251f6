/// A JSON document that is built from values, for responses whose structure depends on the request.
enum Document: Encodable {
    case null
    case bool(Bool)
    case integer(Int)
    case string(String)
    case object([String: Document])
    case value(any Encodable)

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            try members.encode(to: encoder)
        case .value(let value):
            try value.encode(to: encoder)
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            try value.encode(to: encoder)
        case .integer(let value):
            try value.encode(to: encoder)
        case .string(let value):
            try value.encode(to: encoder)
        }
    }
}
