#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Turns an `Encodable` value into content. The same value is the same bytes, in every process.
public protocol ContentEncoder: Sendable {
    /// The media type of what ``encode(_:)`` makes; sent as `Content-Type` where none is set.
    var contentType: String { get }
    /// - Throws: ``HoldfastError`` with code `encodingFailed`, or the encoder's own error.
    func encode(_ value: any Encodable) throws -> Data
}

/// Values as JSON with sorted keys. RFC 8259
public struct JSONContentEncoder: ContentEncoder {
    /// `application/json` unless told otherwise.
    public let contentType: String
    private let encoder: JSONEncoder

    /// ISO 8601 dates, slashes as they are.
    public init(contentType: String = "application/json") {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        self.init(encoder, contentType: contentType)
    }

    /// The strategies of an encoder of one's own, as they are now. Keys are sorted, whatever it
    /// says: a value's content is part of its cache key.
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

    /// - Throws: ``HoldfastError`` with code `encodingFailed`: the value's own error, or a number
    ///   that is not finite.
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

/// Values as a form (`application/x-www-form-urlencoded`), by the conventions of a
/// ``URLParameterEncoder``.
///
/// Numbers beyond 64 bits that are no `Double` lose digits; make strings of them.
public struct FormContentEncoder: ContentEncoder, Hashable {
    /// How arrays, nesting, booleans and spaces are written.
    public var conventions: URLParameterEncoder

    /// `+` for spaces, otherwise the defaults of ``URLParameterEncoder``, unless told otherwise.
    public init(_ conventions: URLParameterEncoder = URLParameterEncoder(spaces: .plus)) {
        self.conventions = conventions
    }

    /// `application/x-www-form-urlencoded`
    public var contentType: String { conventions.contentType }

    /// - Throws: ``HoldfastError`` with code `encodingFailed`: what ``JSONContentEncoder`` and
    ///   ``URLParameterEncoder`` refuse, and a value that is no object.
    public func encode(_ value: any Encodable) throws -> Data {
        guard case .object(let parameters) = try ParameterValue(encoding: value) else {
            throw HoldfastError(
                code: .encodingFailed,
                message: "The content of type '\(type(of: value))' has no names, and a form needs them."
            )
        }
        return try conventions.encode(parameters)
    }
}

extension Error {
    /// Where in a value encoding failed, for a message: the path, and never the value, which may be
    /// a secret.
    fileprivate var place: String {
        guard case EncodingError.invalidValue(_, let context)? = self as? EncodingError, !context.codingPath.isEmpty
        else { return "" }
        return
            " at '\(context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."))'"
    }
}
