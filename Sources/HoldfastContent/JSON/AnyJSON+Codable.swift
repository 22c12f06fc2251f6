extension AnyJSON: Decodable {
    /// - Throws: `DecodingError` if there is no JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if (try? decoder.container(keyedBy: PathKey.self)) != nil {
            // Decode it as a dictionary, because a decoder may convert the keys of a keyed
            // container.
            self = .object(try container.decode([String: AnyJSON].self))
        } else if (try? decoder.unkeyedContainer()) != nil {
            self = .array(try container.decode([AnyJSON].self))
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

extension AnyJSON: Encodable {
    /// Encodes the JSON value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
