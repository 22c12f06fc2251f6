/// Where a decoding is to look, while it lasts.
///
/// A ``ResponseDecoder`` takes a type and bytes and nothing else, so that what the types below read
/// is told to them on the side. Decoding is synchronous: nothing of it is left when it returns.
struct ReadingPlace: Sendable {
    var envelope: Envelope?
    /// Below the envelope's model where there is an envelope.
    var path = ValuePath()
    /// The client's or the endpoint's envelope, also for content that comes in one of its own:
    /// that takes what stands for a missing code or message from it.
    var described: Envelope?

    @TaskLocal static var current = ReadingPlace()

    var envelopeOrDefault: Envelope { envelope ?? Envelope() }
}

/// A value at ``ReadingPlace/path``.
struct Placed<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        value = try ReadingPlace.current.path.read(Value.self, from: decoder)
    }
}

/// A value in an envelope, below its model.
struct Unwrapped<Value: Decodable>: Decodable {
    let result: EnvelopeResult
    /// What stands in place of the value; `nil` in a failed envelope, where it is not looked for.
    let found: Found<Value>?

    init(from decoder: any Decoder) throws {
        let place = ReadingPlace.current
        result = try place.envelopeOrDefault.result(from: decoder)
        guard result.isSuccess else {
            found = nil
            return
        }
        let model = place.envelopeOrDefault.model
        let path = model.appending(place.path)
        switch try path.find(Value.self, from: decoder) {
        case .value(let value): found = .value(value)
        case .missing(let absent) where absent.steps.count <= model.steps.count,
            .null(let absent) where absent.steps.count <= model.steps.count:
            found = .missing(at: absent)
        case .missing, .null: found = .value(try path.read(Value.self, from: decoder))
        }
    }
}
