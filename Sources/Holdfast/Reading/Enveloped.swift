public import HoldfastContent

extension EnvelopeResult: Decodable {
    /// Reads the envelope of the client or the endpoint. If neither has one, it reads the default
    /// envelope of ``Envelope/init(code:success:messages:model:missingCode:missingMessage:)``.
    public init(from decoder: any Decoder) throws {
        self = try DecodingLocation.current.envelopeOrDefault.result(from: decoder)
    }
}

/// The outcome that an envelope reports, along with its model: an object, an array or any other
/// value.
///
/// ```swift
/// let page = try await client.fetch(endpoint, as: Enveloped<[Moment]>.self).value
/// print(page.result.message, page.model ?? [])
/// ```
///
/// For this type, an envelope that reports a failure is not an error.
public struct Enveloped<Model: Decodable>: EnvelopedContent {
    /// The outcome.
    public var result: EnvelopeResult
    /// The model; `nil` if it is null or missing, or if the envelope reports a failure and contains
    /// something else.
    public var model: Model?

    /// Creates an envelope's content.
    public init(result: EnvelopeResult, model: Model?) {
        self.result = result
        self.model = model
    }

    /// Reads the envelope of the client or the endpoint: see `EnvelopeResult.init(from:)`.
    ///
    /// - Throws: `DecodingError` if the content is not an envelope, or if a successful envelope has
    ///   a different model.
    public init(from decoder: any Decoder) throws {
        let location = DecodingLocation.current
        result = try location.envelopeOrDefault.result(from: decoder)
        let path = location.envelopeOrDefault.model.appending(location.path)
        do {
            model = try path.find(Model.self, from: decoder).value
        } catch  where !result.isSuccess {
            // If the envelope reports a failure, it may contain anything in place of the model.
            model = nil
        }
    }
}

extension Enveloped: Sendable where Model: Sendable {}
extension Enveloped: Equatable where Model: Equatable {}
extension Enveloped: Hashable where Model: Hashable {}
