public import HoldfastContent

/// The format in which an API wraps its content: `{"code": 0, "msg": "OK", "data": …}`.
///
/// Describe the format once for a client. An endpoint can override it (``EnvelopeChoice``):
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
/// If an API omits its status or its message, define defaults once for the whole client:
///
/// ```swift
/// let terse = Envelope(missingCode: 800, missingMessage: "The server is busy. Try again later.")
/// ```
///
/// The type that a call requests determines what it receives:
/// - `EnvelopeResult` has the outcome and the reason for it.
/// - ``Enveloped`` has the outcome, the reason and the model.
/// - `Data` and ``RawContent`` are the whole content.
/// - Any other type receives only the model, and an envelope that reports a failure is an error
///   with code `envelope`.
///
/// An envelope that reports a failure never replaces good data in the store.
public struct Envelope: Sendable, Hashable {
    /// The path of the status.
    public var code: ValuePath
    /// The statuses that mean success. Booleans, numbers and strings are compared by meaning: see
    /// `AnyJSON.means(_:)`. `null` also matches a missing status.
    public var success: [AnyJSON]
    /// The paths of the message. The first path that leads to a message is used.
    public var messages: [ValuePath]
    /// The path of the model.
    public var model: ValuePath
    /// The status to use if the status is missing or `null`. It determines whether the request
    /// succeeded.
    ///
    /// `null` by default. ``RootModel`` also uses it, unless the model's ``EnvelopeRule`` defines
    /// its own.
    public var missingCode: AnyJSON
    /// The message for a failure that has none.
    ///
    /// `EnvelopeResult.defaultMessage` by default. ``RootModel`` also uses it, unless the model's
    /// ``EnvelopeRule`` defines its own.
    public var missingMessage: String

    /// Creates an envelope; by default `{"code": 0, "msg": …, "data": …}`.
    public init(
        code: ValuePath = "code",
        success: [AnyJSON] = [0],
        messages: [ValuePath] = ["msg"],
        model: ValuePath = "data",
        missingCode: AnyJSON = .null,
        missingMessage: String = EnvelopeResult.defaultMessage
    ) {
        self.code = code
        self.success = success
        self.messages = messages
        self.model = model
        self.missingCode = missingCode
        self.missingMessage = missingMessage
    }

    /// Reads the outcome from the envelope.
    ///
    /// - Throws: `DecodingError` if the content is not an object.
    func result(from decoder: any Decoder) throws -> EnvelopeResult {
        let found = try self.code.find(AnyJSON.self, from: decoder).value ?? .null
        let code = found == .null ? missingCode : found
        let isSuccess = success.contains { $0.means(code) }
        for path in messages {
            if let message = try? path.find(AnyJSON.self, from: decoder).value?.text, !message.isEmpty {
                return EnvelopeResult(isSuccess: isSuccess, code: code, message: message)
            }
        }
        return EnvelopeResult(isSuccess: isSuccess, code: code, message: isSuccess ? nil : missingMessage)
    }
}
