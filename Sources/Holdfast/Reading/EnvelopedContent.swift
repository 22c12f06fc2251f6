/// Content that is an envelope by its own type, and reports itself whether it is a success.
///
/// ``RootModel`` and ``Enveloped`` are such types. A type of your own only provides result and
/// model. It is decoded from the whole content, and no other envelope is expected around it.
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
    /// Whether it is a success, and why not.
    var result: EnvelopeResult { get }
    /// The model; `nil` if it is null.
    var model: Model? { get }
}

extension EnvelopedContent {
    /// Returns the model if the content is a success; `nil` if it is null.
    ///
    /// - Throws: ``HoldfastError`` with code `envelope`, with code and message in
    ///   ``HoldfastError/envelope``.
    public func validate() throws -> Model? {
        guard result.isSuccess else { throw HoldfastError(failed: result) }
        return model
    }
}

extension Result where Success: EnvelopedContent, Failure == HoldfastError {
    /// Returns the model of a success whose envelope is a success too; see
    /// ``EnvelopedContent/validate()``.
    public func validate() -> Result<Success.Model?, HoldfastError> {
        flatMap { content in
            content.result.isSuccess ? .success(content.model) : .failure(HoldfastError(failed: content.result))
        }
    }
}
