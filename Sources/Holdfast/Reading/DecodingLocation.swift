/// The location in the content that the current decoding reads.
///
/// A ``ResponseDecoder`` takes only a type and bytes, so the types below receive the location by a
/// task-local value. Decoding is synchronous: the value ends with it.
struct DecodingLocation: Sendable {
    var envelope: Envelope?
    /// The path below the envelope's model, if there is an envelope.
    var path = ValuePath()
    /// The envelope of client or endpoint, also for content with an envelope of its own type. That
    /// type takes the defaults for a missing code or message from it.
    var clientEnvelope: Envelope?

    @TaskLocal static var current = DecodingLocation()

    var envelopeOrDefault: Envelope { envelope ?? Envelope() }
}

/// A value at ``DecodingLocation/path``.
struct Located<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        value = try DecodingLocation.current.path.read(Value.self, from: decoder)
    }
}

/// A value below the model of an envelope.
struct Unwrapped<Value: Decodable>: Decodable {
    let result: EnvelopeResult
    /// The value, or its absence. `nil` in a failed envelope, whose value is not read.
    let found: Found<Value>?

    init(from decoder: any Decoder) throws {
        let location = DecodingLocation.current
        result = try location.envelopeOrDefault.result(from: decoder)
        guard result.isSuccess else {
            found = nil
            return
        }
        let model = location.envelopeOrDefault.model
        let path = model.appending(location.path)
        switch try path.find(Value.self, from: decoder) {
        case .value(let value): found = .value(value)
        case .missing(let absent) where absent.steps.count <= model.steps.count,
            .null(let absent) where absent.steps.count <= model.steps.count:
            found = .missing(at: absent)
        case .missing, .null: found = .value(try path.read(Value.self, from: decoder))
        }
    }
}
