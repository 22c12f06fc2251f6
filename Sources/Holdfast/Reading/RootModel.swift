public import HoldfastContent

/// Content of the form `{"code": …, "msg": …, "data": …}`. Neither the client nor the endpoint
/// needs to describe the envelope.
///
/// ```swift
/// let root = try JSONDecoder().decode(RootModel<Detail>.self, from: data)
/// let detail = try root.validate()
/// ```
///
/// The model's type can define which codes are a success, and the defaults for a missing code or
/// message: see ``EnvelopeRule``. Otherwise, the client that reads the content uses the defaults of
/// its ``Envelope``.
public struct RootModel<Model: Decodable>: EnvelopedContent {
    /// The code as received; `null` if it is missing.
    public var code: AnyJSON
    /// The message, if there is one.
    public var msg: String?
    /// The model; `nil` if it is null or missing, or if the code reports a failure and the content
    /// has something else in its place.
    public var data: Model?
    private let missing = MissingParts(of: Model.self)

    /// Creates a root model.
    public init(code: AnyJSON, msg: String? = nil, data: Model? = nil) {
        self.code = code
        self.msg = msg
        self.data = data
    }

    private enum CodingKeys: String, CodingKey {
        case code, msg, data
    }

    /// - Throws: `DecodingError` if the content is not an object, or if a success has a different
    ///   model.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decodeIfPresent(AnyJSON.self, forKey: .code) ?? .null
        msg = try container.decodeIfPresent(AnyJSON.self, forKey: .msg)?.text
        data = nil
        let isSuccess = result.isSuccess
        do {
            data = try container.decodeIfPresent(Model.self, forKey: .data)
        } catch  where !isSuccess {
            // If the code reports a failure, the content may have anything in place of the model.
        }
    }

    /// Whether the model's rule treats the code as a success, and the reason if it does not.
    public var result: EnvelopeResult {
        let code = code == .null ? missing.code : code
        let isSuccess = MissingParts.rule(of: Model.self).isSuccess(code)
        return EnvelopeResult(isSuccess: isSuccess, code: code, message: msg ?? (isSuccess ? nil : missing.message))
    }

    /// The model: see ``data``.
    public var model: Model? { data }
}

extension RootModel: Sendable where Model: Sendable {}

/// Encodes to the same form in which it is read, so that it can be stored as an object.
extension RootModel: Encodable where Model: Encodable {
    /// Writes `code`, and `msg` and `data` if they are not `nil`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encodeIfPresent(msg, forKey: .msg)
        try container.encodeIfPresent(data, forKey: .data)
    }
}

extension RootModel: Equatable where Model: Equatable {
    /// Returns whether two root models have equal parts and equal results.
    public static func == (one: Self, other: Self) -> Bool {
        one.code == other.code && one.msg == other.msg && one.data == other.data && one.result == other.result
    }
}

extension RootModel: Hashable where Model: Hashable {
    /// See `Hashable`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(msg)
        hasher.combine(data)
    }
}

/// The defaults for a missing code and message. They are determined when the model is created,
/// because only then is the client known.
private struct MissingParts: Sendable {
    let code: AnyJSON
    let message: String

    init(of model: Any.Type) {
        let rule = Self.rule(of: model)
        (code, message) = (rule.missingCode, rule.missingMessage)
    }

    static func rule(of model: Any.Type) -> any EnvelopeRule.Type {
        model as? any EnvelopeRule.Type ?? StandardRule.self
    }
}

/// Defines when a ``RootModel`` of this type is a success. Every requirement has a default.
///
/// ```swift
/// extension Detail: EnvelopeRule {
///     static func isSuccess(_ code: AnyJSON) -> Bool { code.means(200) }
/// }
/// ```
///
/// Arrays and optionals use the rule of their element type.
public protocol EnvelopeRule {
    /// Returns whether a code is a success. By default, the code must be 0 in any form (`"0"`,
    /// `false`).
    static func isSuccess(_ code: AnyJSON) -> Bool
    /// The code to use if the code is missing. By default, ``Envelope/missingCode`` of the client
    /// or endpoint that reads the model; otherwise `null`, which is not a success.
    static var missingCode: AnyJSON { get }
    /// The message for a failure that has none. By default, ``Envelope/missingMessage`` of the
    /// client or endpoint that reads the model; otherwise `EnvelopeResult.defaultMessage`.
    static var missingMessage: String { get }
}

extension EnvelopeRule {
    /// Returns whether the code is 0 in any form.
    public static func isSuccess(_ code: AnyJSON) -> Bool { code.means(0) }
    /// The default of the client or endpoint that reads the model.
    public static var missingCode: AnyJSON { DecodingLocation.current.clientEnvelope?.missingCode ?? .null }
    /// The default of the client or endpoint that reads the model.
    public static var missingMessage: String {
        DecodingLocation.current.clientEnvelope?.missingMessage ?? EnvelopeResult.defaultMessage
    }
}

private enum StandardRule: EnvelopeRule {}

extension Array: EnvelopeRule where Element: EnvelopeRule {
    /// Applies the element type's rule.
    public static func isSuccess(_ code: AnyJSON) -> Bool { Element.isSuccess(code) }
    /// The element type's default.
    public static var missingCode: AnyJSON { Element.missingCode }
    /// The element type's default.
    public static var missingMessage: String { Element.missingMessage }
}

extension Optional: EnvelopeRule where Wrapped: EnvelopeRule {
    /// Applies the wrapped type's rule.
    public static func isSuccess(_ code: AnyJSON) -> Bool { Wrapped.isSuccess(code) }
    /// The wrapped type's default.
    public static var missingCode: AnyJSON { Wrapped.missingCode }
    /// The wrapped type's default.
    public static var missingMessage: String { Wrapped.missingMessage }
}
