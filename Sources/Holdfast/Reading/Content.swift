import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a response, from which values are read one by one, without a model.
///
/// ```swift
/// let content = try await client.fetch(endpoint, as: Content.self).value
/// let id = try content.value(at: "moments[0].id", as: Int64.self)
/// let title = try content.value(at: "moments[0].title", as: String?.self)
/// ```
///
/// A path starts where the endpoint's value stands: at the envelope's model where there is an
/// envelope, at the endpoint's ``Endpoint/valuePath`` below it, else at the top level.
public struct Content: Sendable {
    /// The bytes.
    public let data: Data
    private let decoding: ContentDecoding
    private let status: HTTPResponse.Status
    private let target: MessageTarget

    init(_ data: Data, decoding: ContentDecoding, status: HTTPResponse.Status, target: MessageTarget) {
        self.data = data
        self.decoding = decoding
        self.status = status
        self.target = target
    }

    /// Content that came some other way.
    ///
    /// - Parameters:
    ///   - decoder: JSON with ISO 8601 dates unless told otherwise.
    ///   - envelope: none unless told otherwise.
    public init(
        _ data: Data,
        decoder: any ResponseDecoder = CachingClient.Configuration.defaultDecoder,
        envelope: Envelope? = nil
    ) {
        let decoding = ContentDecoding(
            decoder: decoder,
            envelope: envelope,
            path: ValuePath(),
            emptyContent: .isMissing
        )
        self.init(data, decoding: decoding, status: .ok, target: MessageTarget("content"))
    }

    /// The value at a path.
    ///
    /// What is missing or null is `nil` for an optional, and an error for other types.
    /// - Throws: ``HoldfastError`` with code `envelope`, `noData` or `decodingFailed`, which names
    ///   the place in ``HoldfastError/codingPath``.
    public func value<Value: Decodable>(
        at path: ValuePath = ValuePath(),
        as type: Value.Type = Value.self
    ) throws -> Value {
        var decoding = decoding
        decoding.path = decoding.path.appending(path)
        return try decoding.decode(type, from: data, status: status, target: target)
    }
}

extension Content: Decodable {
    /// - Throws: `DecodingError`, always: content is what a response has, no value in it.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "'Content' is no value in content.")
        )
    }
}

extension Content: Equatable {
    /// Whether the bytes are the same.
    public static func == (first: Content, second: Content) -> Bool { first.data == second.data }
}
