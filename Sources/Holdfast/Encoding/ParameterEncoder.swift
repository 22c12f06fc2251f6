#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Turns parameters into content. The same parameters are the same bytes, in every process.
public protocol ParameterEncoder: Sendable {
    /// The media type of what ``encode(_:)`` makes; sent as `Content-Type` where none is set.
    var contentType: String { get }
    /// - Throws: ``HoldfastError`` with code `encodingFailed`, or the encoder's own error.
    func encode(_ parameters: Parameters) throws -> Data
}

/// Parameters as one JSON object with sorted keys. RFC 8259
public struct JSONParameterEncoder: ParameterEncoder {
    /// An encoder without options.
    public init() {}

    /// `application/json`
    public var contentType: String { "application/json" }

    /// - Throws: ``HoldfastError`` with code `encodingFailed`: a number that is not finite.
    public func encode(_ parameters: Parameters) throws -> Data {
        try JSONContentEncoder().encode(parameters)
    }
}
