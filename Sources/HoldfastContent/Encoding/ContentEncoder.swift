#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Encodes parameters or any `Encodable` value as content. Equal values encode to equal bytes in
/// every process.
public protocol ContentEncoder: Sendable {
    /// The media type of the content, sent as `Content-Type` if no other is set.
    var contentType: String { get }
    /// Encodes a value as content.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed`, or the encoder's own error.
    func encode(_ value: any Encodable) throws -> Data
}

/// Encodes values as JSON with sorted keys. RFC 8259
public struct JSONContentEncoder: ContentEncoder {
    /// The media type. `application/json` by default.
    public let contentType: String
    private let encoder: JSONEncoder

    /// Creates an encoder with ISO 8601 dates and unescaped slashes.
    public init(contentType: String = "application/json") {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        self.init(encoder, contentType: contentType)
    }

    /// Creates an encoder with a copy of another encoder's current strategies. Keys are always
    /// sorted, because a value's content is part of its cache key.
    public init(_ encoder: JSONEncoder, contentType: String = "application/json") {
        let own = JSONEncoder()
        own.outputFormatting = encoder.outputFormatting.union(.sortedKeys)
        own.dateEncodingStrategy = encoder.dateEncodingStrategy
        own.dataEncodingStrategy = encoder.dataEncodingStrategy
        own.nonConformingFloatEncodingStrategy = encoder.nonConformingFloatEncodingStrategy
        own.keyEncodingStrategy = encoder.keyEncodingStrategy
        own.userInfo = encoder.userInfo
        self.encoder = own
        self.contentType = contentType
    }

    /// Encodes a value as JSON.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if the value throws an error or
    ///   contains a number that is not finite.
    public func encode(_ value: any Encodable) throws -> Data {
        do {
            return try encoder.encode(value)
        } catch let error as HoldfastError where error.code == .encodingFailed {
            throw error
        } catch {
            throw HoldfastError(
                code: .encodingFailed,
                message: "The content of type '\(type(of: value))' could not be encoded as JSON\(error.place).",
                cause: error
            )
        }
    }
}

/// Encodes values as a form (`application/x-www-form-urlencoded`), following the conventions of a
/// ``URLParameterEncoder``.
///
/// Numbers beyond 64 bits that a `Double` cannot represent exactly lose digits; use strings for
/// them.
public struct FormContentEncoder: ContentEncoder, Hashable {
    /// The conventions for arrays, nesting, booleans and spaces.
    public var conventions: URLParameterEncoder

    /// Creates an encoder. By default, it writes `+` for spaces and otherwise uses the defaults of
    /// ``URLParameterEncoder``.
    public init(_ conventions: URLParameterEncoder = URLParameterEncoder(spaces: .plus)) {
        self.conventions = conventions
    }

    /// The media type of a form, `application/x-www-form-urlencoded`.
    public var contentType: String { "application/x-www-form-urlencoded" }

    /// Encodes a value as a form.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` for values that
    ///   ``JSONContentEncoder`` or ``URLParameterEncoder`` rejects, and for a value that is not an
    ///   object.
    public func encode(_ value: any Encodable) throws -> Data {
        guard case .object(let parameters) = try ParameterValue(encoding: value) else {
            throw HoldfastError(
                code: .encodingFailed,
                message: "The content of type '\(type(of: value))' has no field names, and a form needs them."
            )
        }
        return Data(try conventions.query(parameters).utf8)
    }
}

extension Error {
    /// The path at which encoding failed, for a message. It never includes the value, which may be
    /// a secret.
    fileprivate var place: String {
        guard case EncodingError.invalidValue(_, let context)? = self as? EncodingError, !context.codingPath.isEmpty
        else { return "" }
        return
            " at '\(context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))'"
    }
}
