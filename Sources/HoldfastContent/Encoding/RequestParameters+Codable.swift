extension RequestParameters: Codable {
    /// Decodes a keyed container. If a name occurs twice, the decoder decides which value is used.
    public init(from decoder: any Decoder) throws {
        values = try [String: ParameterValue](from: decoder)
    }

    /// Encodes a keyed container.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if a value could not be encoded.
    public func encode(to encoder: any Encoder) throws {
        try check()
        try values.encode(to: encoder)
    }
}

extension ParameterValue: Codable {
    /// Decodes a JSON value. Integers of up to 64 bits are exact; other numbers become `Double`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .unsigned(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let values = try? container.decode([ParameterValue].self) {
            self = .array(values)
        } else {
            self = .object(try container.decode(RequestParameters.self))
        }
    }

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
        case .array(let values): try container.encode(values)
        case .object(let parameters): try container.encode(parameters)
        }
    }
}
