public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A response as processing, validation and decoding see it: whole, decompressed.
public struct ResponseContent: Sendable {
    /// Status and fields.
    public var head: HTTPResponse
    /// The content.
    public var data: Data
    let decoding: ContentDecoding
    let target: MessageTarget

    /// The content as a value: of the envelope's model, at the endpoint's path.
    ///
    /// - Parameter path: where it stands, in place of the endpoint's.
    /// - Throws: ``HoldfastError`` with code `decodingFailed`, `noData` or `envelope`.
    public func decode<Value: Decodable>(_ type: Value.Type, at path: ValuePath? = nil) throws -> Value {
        var decoding = decoding
        if let path { decoding.path = path }
        return try decoding.decode(type, from: data, status: head.status, target: target)
    }

    /// Refuses an envelope that says failure, where this may be one.
    func refuseFailure() throws {
        try decoding.refuseFailure(data, status: head.status, target: target)
    }
}
