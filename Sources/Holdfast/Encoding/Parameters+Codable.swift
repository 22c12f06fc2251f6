extension Parameters: Codable {
    /// From a keyed container. Of a name that is there twice, which one counts is the decoder's to
    /// say.
    public init(from decoder: any Decoder) throws {
        values = try [String: ParameterValue](from: decoder)
    }

    /// As a keyed container.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed`: a value could not be encoded.
    public func encode(to encoder: any Encoder) throws {
        try check()
        try values.encode(to: encoder)
    }
}

extension ParameterValue: Codable {
    /// From the JSON value it is. Integers of 64 bits are exact; other numbers are `Double`.
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
            self = .object(try container.decode(Parameters.self))
        }
    }

    /// As the JSON value it is.
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
