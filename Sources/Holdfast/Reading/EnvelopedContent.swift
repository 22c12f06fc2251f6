public import HoldfastContent

/// Content whose type is itself an envelope and reports whether it is a success.
///
/// ``RootModel`` and ``Enveloped`` are such types. Your own type only needs to provide the result
/// and the model. It is decoded from the whole content, and no other envelope is expected around
/// it.
///
/// ```swift
/// struct Reply<Model: Decodable>: EnvelopedContent {
///     var ok: Bool
///     var error: String?
///     var payload: Model?
///     var result: EnvelopeResult {
///         EnvelopeResult(isSuccess: ok, code: .boolean(ok), message: error)
///     }
///     var model: Model? { payload }
/// }
/// ```
public protocol EnvelopedContent: Decodable {
    /// The type of the envelope's model.
    associatedtype Model
    /// Whether the content is a success, and the reason if it is not.
    var result: EnvelopeResult { get }
    /// The model; `nil` if it is null.
    var model: Model? { get }
}

extension EnvelopedContent {
    /// Returns the model if the content is a success; returns `nil` if the model is null.
    ///
    /// - Throws: `HoldfastError` with code `envelope`. `HoldfastError.envelope` has the
    ///   envelope's code and message.
    public func validate() throws -> Model? {
        guard result.isSuccess else { throw HoldfastError(failed: result) }
        return model
    }
}

extension Result where Success: EnvelopedContent, Failure == HoldfastError {
    /// Returns the model if the result is a success and its envelope reports success: see
    /// ``EnvelopedContent/validate()``.
    public func validate() -> Result<Success.Model?, HoldfastError> {
        flatMap { content in
            content.result.isSuccess ? .success(content.model) : .failure(HoldfastError(failed: content.result))
        }
    }
}
