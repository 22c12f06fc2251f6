/// How an API wraps what it answers: `{"code": 0, "msg": "OK", "data": …}`.
///
/// A client is told once, an endpoint can say otherwise (``EnvelopeChoice``):
///
/// ```swift
/// let envelope = Envelope(
///     code: "status.code",
///     success: [0, "SUCCESS"],
///     messages: ["status.text", ValuePath("error>errMsg", separator: ">")],
///     model: "result"
/// )
/// ```
///
/// An API that leaves its status or its message out is completed once, for the whole client:
///
/// ```swift
/// let terse = Envelope(missingCode: 800, missingMessage: "The server is busy. Try again later.")
/// ```
///
/// The type that a call names says what it gets: ``EnvelopeResult`` whether it succeeded and why
/// not, ``Enveloped`` that and the model, any other type the model alone, in which case a failed
/// envelope is an error with code `envelope`. A failed envelope is never stored as good data.
public struct Envelope: Sendable, Hashable {
    /// Where the status of the answer stands.
    public var code: ValuePath
    /// Which statuses are a success. Booleans, numbers and strings are compared by what they mean,
    /// see ``JSONValue/means(_:)``; `null` is also a status that is missing.
    public var success: [JSONValue]
    /// Where the message stands; several places are tried in order, and the first that has one
    /// counts.
    public var messages: [ValuePath]
    /// Where the model stands.
    public var model: ValuePath
    /// Stands for a status that is missing or `null`, also where it decides about success.
    ///
    /// `null` unless told otherwise. ``RootModel`` takes it too, unless the model's
    /// ``EnvelopeRule`` has one of its own.
    public var missingCode: JSONValue
    /// Stands for the message of a failure that has none.
    ///
    /// ``EnvelopeResult/defaultMessage`` unless told otherwise. ``RootModel`` takes it too, unless
    /// the model's ``EnvelopeRule`` has one of its own.
    public var missingMessage: String

    /// An envelope; `{"code": 0, "msg": …, "data": …}` unless told otherwise.
    public init(
        code: ValuePath = "code",
        success: [JSONValue] = [0],
        messages: [ValuePath] = ["msg"],
        model: ValuePath = "data",
        missingCode: JSONValue = .null,
        missingMessage: String = EnvelopeResult.defaultMessage
    ) {
        self.code = code
        self.success = success
        self.messages = messages
        self.model = model
        self.missingCode = missingCode
        self.missingMessage = missingMessage
    }

    /// What the envelope says.
    ///
    /// - Throws: `DecodingError`: the content is no object.
    func result(from decoder: any Decoder) throws -> EnvelopeResult {
        let found = try self.code.find(JSONValue.self, from: decoder).value ?? .null
        let code = found == .null ? missingCode : found
        let isSuccess = success.contains { $0.means(code) }
        for path in messages {
            if let message = try? path.find(JSONValue.self, from: decoder).value?.text, !message.isEmpty {
                return EnvelopeResult(isSuccess: isSuccess, code: code, message: message)
            }
        }
        return EnvelopeResult(isSuccess: isSuccess, code: code, message: isSuccess ? nil : missingMessage)
    }
}
