/// Content of the form `{"code": …, "msg": …, "data": …}`. It decodes on its own: neither client
/// nor endpoint has to describe the envelope.
///
/// ```swift
/// let root = try JSONDecoder().decode(RootModel<Detail>.self, from: data)
/// let detail = try root.validate()
/// ```
///
/// The model's type can define what is a success, and the defaults for a missing code or message:
/// see ``EnvelopeRule``. Otherwise a client that reads it supplies both from its ``Envelope``.
public struct RootModel<Model: Decodable>: EnvelopedContent {
    /// The code as it was sent; `null` if it is missing.
    public var code: JSONValue
    /// The message, if there is one.
    public var msg: String?
    /// The model. `nil` if it is null or missing, or if the code reports a failure and there is
    /// something else.
    public var data: Model?
    private let missing = MissingParts(of: Model.self)

    /// Creates a root model.
    public init(code: JSONValue, msg: String? = nil, data: Model? = nil) {
        self.code = code
        self.msg = msg
        self.data = data
    }

    private enum CodingKeys: String, CodingKey {
        case code, msg, data
    }

    /// - Throws: `DecodingError` if the content is not an object, or if a success has another
    ///   model.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decodeIfPresent(JSONValue.self, forKey: .code) ?? .null
        msg = try container.decodeIfPresent(JSONValue.self, forKey: .msg)?.text
        data = nil
        let isSuccess = result.isSuccess
        do {
            data = try container.decodeIfPresent(Model.self, forKey: .data)
        } catch  where !isSuccess {
            // A failure may hold anything in place of the model.
        }
    }

    /// Whether the code is a success by the model's rule, and why not.
    public var result: EnvelopeResult {
        let code = code == .null ? missing.code : code
        let isSuccess = MissingParts.rule(of: Model.self).isSuccess(code)
        return EnvelopeResult(isSuccess: isSuccess, code: code, message: msg ?? (isSuccess ? nil : missing.message))
    }

    /// The model; see ``data``.
    public var model: Model? { data }
}

extension RootModel: Sendable where Model: Sendable {}

/// Encodable in the form in which it was read, so that it can be stored as an object.
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
    /// Whether both have equal parts and equal results.
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

/// The defaults for a missing code and message. They are read when the model is created, because
/// only then the client that reads it is known.
private struct MissingParts: Sendable {
    let code: JSONValue
    let message: String

    init(of model: Any.Type) {
        let rule = Self.rule(of: model)
        (code, message) = (rule.missingCode, rule.missingMessage)
    }

    static func rule(of model: Any.Type) -> any EnvelopeRule.Type {
        model as? any EnvelopeRule.Type ?? StandardRule.self
    }
}

/// Defines when a ``RootModel`` of this type is a success. Everything has a default.
///
/// ```swift
/// extension Detail: EnvelopeRule {
///     static func isSuccess(_ code: JSONValue) -> Bool { code.means(200) }
/// }
/// ```
///
/// Arrays and optionals use the rule of their elements.
public protocol EnvelopeRule {
    /// Whether a code is a success. By default, 0 in any form (`"0"`, `false`).
    static func isSuccess(_ code: JSONValue) -> Bool
    /// Replaces a missing code. By default ``Envelope/missingCode`` of the client or endpoint that
    /// reads the model, otherwise `null`, which is no success.
    static var missingCode: JSONValue { get }
    /// The message of a failure that has none. By default ``Envelope/missingMessage`` of the client
    /// or endpoint that reads the model, otherwise ``EnvelopeResult/defaultMessage``.
    static var missingMessage: String { get }
}

extension EnvelopeRule {
    /// 0 in any form.
    public static func isSuccess(_ code: JSONValue) -> Bool { code.means(0) }
    /// The reading client's.
    public static var missingCode: JSONValue { DecodingLocation.current.clientEnvelope?.missingCode ?? .null }
    /// The reading client's.
    public static var missingMessage: String {
        DecodingLocation.current.clientEnvelope?.missingMessage ?? EnvelopeResult.defaultMessage
    }
}

private enum StandardRule: EnvelopeRule {}

extension Array: EnvelopeRule where Element: EnvelopeRule {
    /// The elements' rule.
    public static func isSuccess(_ code: JSONValue) -> Bool { Element.isSuccess(code) }
    /// The elements' rule.
    public static var missingCode: JSONValue { Element.missingCode }
    /// The elements' rule.
    public static var missingMessage: String { Element.missingMessage }
}

extension Optional: EnvelopeRule where Wrapped: EnvelopeRule {
    /// The wrapped type's rule.
    public static func isSuccess(_ code: JSONValue) -> Bool { Wrapped.isSuccess(code) }
    /// The wrapped type's rule.
    public static var missingCode: JSONValue { Wrapped.missingCode }
    /// The wrapped type's rule.
    public static var missingMessage: String { Wrapped.missingMessage }
}
