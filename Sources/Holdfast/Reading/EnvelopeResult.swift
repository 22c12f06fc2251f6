/// What an envelope says of the request: whether it succeeded, and why not.
///
/// As the type of a call it takes the place of the model, and a failed envelope is then a value, no
/// error.
public struct EnvelopeResult: Sendable, Hashable {
    /// Whether the code is one of ``Envelope/success``.
    public var isSuccess: Bool
    /// The status as it stood there; ``Envelope/missingCode`` where it is missing.
    public var code: JSONValue
    /// The message. Where it is missing, it is empty for a success and ``Envelope/missingMessage``
    /// for a failure.
    public var message: String

    /// The message of a failed envelope that has none, where no ``Envelope`` names another.
    public static let defaultMessage = "The request failed, and no reason was given."

    /// A result.
    ///
    /// - Parameter message: `nil` for the default.
    public init(isSuccess: Bool, code: JSONValue, message: String? = nil) {
        self.isSuccess = isSuccess
        self.code = code
        self.message = message ?? (isSuccess ? "" : Self.defaultMessage)
    }
}

extension EnvelopeResult: Decodable {
    /// Reads the envelope of the client or the endpoint; by itself, the one that
    /// ``Envelope/init(code:success:messages:model:missingCode:missingMessage:)`` makes unless told
    /// otherwise.
    public init(from decoder: any Decoder) throws {
        self = try ReadingPlace.current.envelopeOrDefault.result(from: decoder)
    }
}

/// What an envelope says, and the model in it: an object, an array or anything else.
///
/// ```swift
/// let page = try await client.fetch(endpoint, as: Enveloped<[Moment]>.self).value
/// print(page.result.message, page.model ?? [])
/// ```
///
/// A failed envelope is no error here.
public struct Enveloped<Model: Decodable>: EnvelopedContent {
    /// What the envelope says.
    public var result: EnvelopeResult
    /// The model; `nil` where it is null or missing, and in a failed envelope also where it is no
    /// `Model`.
    public var model: Model?

    /// An envelope's content.
    public init(result: EnvelopeResult, model: Model?) {
        self.result = result
        self.model = model
    }

    /// Reads the envelope of the client or the endpoint; see ``EnvelopeResult/init(from:)``.
    ///
    /// - Throws: `DecodingError`: the content is no envelope, or in a successful one stands another
    ///   model.
    public init(from decoder: any Decoder) throws {
        let place = ReadingPlace.current
        result = try place.envelopeOrDefault.result(from: decoder)
        let path = place.envelopeOrDefault.model.appending(place.path)
        do {
            model = try path.find(Model.self, from: decoder).value
        } catch  where !result.isSuccess {
            // What stands in place of the model where there is none to give.
            model = nil
        }
    }
}

extension Enveloped: Sendable where Model: Sendable {}
extension Enveloped: Equatable where Model: Equatable {}
extension Enveloped: Hashable where Model: Hashable {}
