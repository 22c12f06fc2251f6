/// The form in which an API wraps its content: `{"code": 0, "msg": "OK", "data": …}`.
///
/// Describe it once for a client. An endpoint can override it (``EnvelopeChoice``):
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
/// If an API omits its status or its message, supply defaults once, for the whole client:
///
/// ```swift
/// let terse = Envelope(missingCode: 800, missingMessage: "The server is busy. Try again later.")
/// ```
///
/// The type that a call names selects what it receives. ``EnvelopeResult`` holds the outcome and
/// its reason, ``Enveloped`` holds these and the model. Any other type is the model alone; then a
/// failed envelope is an error with code `envelope`. A failed envelope never replaces good data in
/// the store.
public struct Envelope: Sendable, Hashable {
    /// The path of the status.
    public var code: ValuePath
    /// The statuses that are a success. Booleans, numbers and strings are compared by meaning, see
    /// ``JSONValue/means(_:)``. `null` also matches a missing status.
    public var success: [JSONValue]
    /// The paths of the message. They are tried in order, and the first that has a message is used.
    public var messages: [ValuePath]
    /// The path of the model.
    public var model: ValuePath
    /// Replaces a missing or `null` status, also for deciding about success.
    ///
    /// `null` by default. ``RootModel`` uses it too, unless the model's ``EnvelopeRule`` has its
    /// own.
    public var missingCode: JSONValue
    /// The message of a failure that has none.
    ///
    /// ``EnvelopeResult/defaultMessage`` by default. ``RootModel`` uses it too, unless the model's
    /// ``EnvelopeRule`` has its own.
    public var missingMessage: String

    /// Creates an envelope; by default `{"code": 0, "msg": …, "data": …}`.
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

    /// Reads the outcome from the envelope.
    ///
    /// - Throws: `DecodingError` if the content is not an object.
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
