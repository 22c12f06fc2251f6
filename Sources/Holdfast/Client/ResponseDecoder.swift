#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Turns content into values. `JSONDecoder` is one.
public protocol ResponseDecoder: Sendable {
    /// - Throws: the decoder's own error; the request layer adds what was decoded and keeps the
    ///   bytes.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension JSONDecoder: ResponseDecoder {}
