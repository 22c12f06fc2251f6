#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Encodes parameters as content. Equal parameters encode to equal bytes in every process.
public protocol ParameterEncoder: Sendable {
    /// The media type of the content, sent as `Content-Type` if no other is set.
    var contentType: String { get }
    /// Encodes parameters as content.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed`, or the encoder's own error.
    func encode(_ parameters: RequestParameters) throws -> Data
}

/// Encodes parameters as one JSON object with sorted keys. RFC 8259
public struct JSONParameterEncoder: ParameterEncoder {
    /// Creates an encoder, which has no options.
    public init() {}

    /// The media type, `application/json`.
    public var contentType: String { "application/json" }

    /// Encodes parameters as a JSON object.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if a number is not finite.
    public func encode(_ parameters: RequestParameters) throws -> Data {
        try JSONContentEncoder().encode(parameters)
    }
}
