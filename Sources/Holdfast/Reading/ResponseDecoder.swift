#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A decoder of content, such as `JSONDecoder`.
public protocol ResponseDecoder: Sendable {
    /// - Throws: the decoder's own error. The request layer adds the name of the content and keeps
    ///   the bytes.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: ResponseDecoder {}
