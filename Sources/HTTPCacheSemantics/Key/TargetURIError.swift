/// The reason that a string is not a valid target URI.
///
/// The message contains the string with its secrets redacted.
public struct TargetURIError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        /// The scheme is not `http` or `https`, or there is none.
        public static let unsupportedScheme = Code(description: "unsupportedScheme")
        /// The host is missing.
        public static let missingHost = Code(description: "missingHost")
        /// The host is not a name consisting of ASCII letters, digits, `-`, `.`, `_` and `~`, nor
        /// an IPv4 address or an IPv6 address in brackets.
        public static let invalidHost = Code(description: "invalidHost")
        /// The port is not a number between 1 and 65,535.
        public static let invalidPort = Code(description: "invalidPort")
        /// The authority contains user information, which HTTP forbids. RFC 9110 §4.2.4
        public static let userInformation = Code(description: "userInformation")
        /// The text contains a C0 control or DEL.
        public static let controlCharacter = Code(description: "controlCharacter")
        /// The text is longer than 65,535 bytes, as given or percent-encoded.
        public static let tooLong = Code(description: "tooLong")
        /// The library's transport cannot send the path unchanged.
        public static let invalidPath = Code(description: "invalidPath")
    }

    /// The kind of error.
    public let code: Code
    /// One sentence that contains the text (redacted, at most 200 bytes), followed by the remedy.
    public let message: String
    /// The message.
    public var description: String { message }

    init(_ code: Code, text: String) {
        self.code = code
        let name = Redaction.uriText(text, limit: 200)
        message =
            switch code {
            case .unsupportedScheme:
                "'\(name)' is not an http or https URI. Give an absolute URI such as 'https://a.example/x'."
            case .missingHost: "'\(name)' has no host. Give an absolute URI such as 'https://a.example/x'."
            case .invalidHost:
                "The host of '\(name)' is not valid. Use ASCII (an international name in its 'xn--' form), or an IPv6 address in brackets."
            case .invalidPort: "The port of '\(name)' is not valid. Use a number from 1 to 65,535."
            case .userInformation:
                "'\(name)' contains user information, which RFC 9110 §4.2.4 forbids. Send an 'Authorization' field."
            case .controlCharacter: "'\(name)' contains a control character. Percent-encode it."
            case .tooLong: "'\(name)' is too long. The limit is 65,535 bytes, percent-encoding included."
            case .invalidPath:
                "The path of '\(name)' cannot be sent. Its percent-encoded bytes must be UTF-8, and '%00' is not allowed."
            default: "'\(name)' is not a target URI."
            }
    }
}
