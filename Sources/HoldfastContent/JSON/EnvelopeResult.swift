/// The outcome that an envelope reports: whether the request succeeded, and the reason if it
/// failed.
///
/// A call can request this type instead of the model. An envelope that reports a failure is then a
/// value and not an error.
public struct EnvelopeResult: Sendable, Hashable {
    /// Whether the code is one of `Envelope.success`.
    public var isSuccess: Bool
    /// The status as received; `Envelope.missingCode` if it is missing.
    public var code: AnyJSON
    /// The message. If it is missing, it is empty for a success and `Envelope.missingMessage` for
    /// a failure.
    public var message: String

    /// The message for a failure that has none, unless an `Envelope` defines another.
    public static let defaultMessage = "The request failed, and no reason was given."

    /// Creates a result.
    ///
    /// - Parameter message: the message; `nil` uses the default.
    public init(isSuccess: Bool, code: AnyJSON, message: String? = nil) {
        self.isSuccess = isSuccess
        self.code = code
        self.message = message ?? (isSuccess ? "" : Self.defaultMessage)
    }
}
