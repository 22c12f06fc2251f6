/// Content that is an envelope by its own type, and says itself whether it is a success.
///
/// ``RootModel`` and ``Enveloped`` are; a type of one's own need only say where result and model
/// are. Such a type is decoded from the whole content, and no other envelope is looked for around
/// it.
///
/// ```swift
/// struct Reply<Model: Decodable>: EnvelopedContent {
///     var ok: Bool
///     var error: String?
///     var payload: Model?
///     var result: EnvelopeResult { EnvelopeResult(isSuccess: ok, code: .boolean(ok), message: error) }
///     var model: Model? { payload }
/// }
/// ```
public protocol EnvelopedContent: Decodable {
    /// What is in the envelope.
    associatedtype Model
    /// Whether it is a success, and why not.
    var result: EnvelopeResult { get }
    /// What is in it; `nil` where it is null.
    var model: Model? { get }
}

extension EnvelopedContent {
    /// The model where the content is a success; `nil` where it is null.
    ///
    /// - Throws: ``HoldfastError`` with code `envelope`, which carries code and message in
    ///   ``HoldfastError/envelope``.
    public func validate() throws -> Model? {
        guard result.isSuccess else { throw HoldfastError(failed: result) }
        return model
    }
}

extension Result where Success: EnvelopedContent, Failure == HoldfastError {
    /// The model of a success whose content is one too; see ``EnvelopedContent/validate()``.
    public func validate() -> Result<Success.Model?, HoldfastError> {
        flatMap { content in
            content.result.isSuccess ? .success(content.model) : .failure(HoldfastError(failed: content.result))
        }
    }
}
