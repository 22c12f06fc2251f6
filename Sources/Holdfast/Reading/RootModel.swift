/// Content of the form `{"code": …, "msg": …, "data": …}`, decodable on its own: no client and no
/// endpoint needs to know of the envelope.
///
/// ```swift
/// let root = try JSONDecoder().decode(RootModel<Detail>.self, from: data)
/// let detail = try root.validate()
/// ```
///
/// The model's type can say what is a success, and what stands for a code or message that is
/// missing: see ``EnvelopeRule``. Where it does not, a client that reads it takes both from its
/// ``Envelope``.
public struct RootModel<Model: Decodable>: EnvelopedContent {
    /// The code as it stood there; `null` where it is missing.
    public var code: JSONValue
    /// The message, where there is one.
    public var msg: String?
    /// The model; `nil` where it is null or missing, and where the code says failure also where it
    /// is no `Model`.
    public var data: Model?
    private let missing = MissingParts(of: Model.self)

    /// A root model.
    public init(code: JSONValue, msg: String? = nil, data: Model? = nil) {
        self.code = code
        self.msg = msg
        self.data = data
    }

    private enum CodingKeys: String, CodingKey {
        case code, msg, data
    }

    /// - Throws: `DecodingError`: the content is no object, or where the code says success stands
    ///   another model.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decodeIfPresent(JSONValue.self, forKey: .code) ?? .null
        msg = try container.decodeIfPresent(JSONValue.self, forKey: .msg)?.text
        data = nil
        let isSuccess = result.isSuccess
        do {
            data = try container.decodeIfPresent(Model.self, forKey: .data)
        } catch  where !isSuccess {
            // What stands in place of the model where there is none to give.
        }
    }

    /// Whether the code is a success by the model's rule, and why not.
    public var result: EnvelopeResult {
        let code = code == .null ? missing.code : code
        let isSuccess = MissingParts.rule(of: Model.self).isSuccess(code)
        return EnvelopeResult(isSuccess: isSuccess, code: code, message: msg ?? (isSuccess ? nil : missing.message))
    }

    /// ``data``.
    public var model: Model? { data }
}

extension RootModel: Sendable where Model: Sendable {}

/// Encodable as it was read, so that it can be stored as an object.
extension RootModel: Encodable where Model: Encodable {
    /// Writes `code`, `msg` and `data`; the latter two where there are any.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encodeIfPresent(msg, forKey: .msg)
        try container.encodeIfPresent(data, forKey: .data)
    }
}

extension RootModel: Equatable where Model: Equatable {
    /// Whether both hold the same and say the same by it.
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

/// What stands for a code and a message that are missing. Known when the model is made, because
/// only then is the client known that reads it.
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

/// What a ``RootModel`` of this type takes for a success. Everything has a default.
///
/// ```swift
/// extension Detail: EnvelopeRule {
///     static func isSuccess(_ code: JSONValue) -> Bool { code.means(200) }
/// }
/// ```
///
/// Arrays and optionals follow the rule of their elements.
public protocol EnvelopeRule {
    /// Whether a code says success. 0 in any form (`"0"`, `false`) unless told otherwise.
    static func isSuccess(_ code: JSONValue) -> Bool
    /// Stands for a code that is missing. Unless told otherwise it is ``Envelope/missingCode`` of
    /// the client or the endpoint that reads the model, else `null`, which is no success.
    static var missingCode: JSONValue { get }
    /// Stands for the message of a failure that has none. Unless told otherwise it is
    /// ``Envelope/missingMessage`` of the client or the endpoint that reads the model, else
    /// ``EnvelopeResult/defaultMessage``.
    static var missingMessage: String { get }
}

extension EnvelopeRule {
    /// 0 in any form.
    public static func isSuccess(_ code: JSONValue) -> Bool { code.means(0) }
    /// The reading client's.
    public static var missingCode: JSONValue { ReadingPlace.current.described?.missingCode ?? .null }
    /// The reading client's.
    public static var missingMessage: String {
        ReadingPlace.current.described?.missingMessage ?? EnvelopeResult.defaultMessage
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
