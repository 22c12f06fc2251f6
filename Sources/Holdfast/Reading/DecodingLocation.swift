import HoldfastContent

/// The location in the content that the current decoding reads.
///
/// A ``ResponseDecoder`` accepts only a type and bytes, so the types below get the location from a
/// task-local value. Decoding is synchronous, so the value does not outlive the decoding.
struct DecodingLocation: Sendable {
    var envelope: Envelope?
    /// The path to the value. If there is an envelope, the path starts at the envelope's model.
    var path = ValuePath()
    /// The envelope of the client or the endpoint. It is also set for content whose type is itself
    /// an envelope: that type uses its defaults for a missing code or message.
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

/// A value inside an envelope's model.
struct Unwrapped<Value: Decodable>: Decodable {
    let result: EnvelopeResult
    /// The value, or the reason that there is none. `nil` if the envelope reports a failure,
    /// because the value is not read in that case.
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
