import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a response. Values are read from it one by one, without a model.
///
/// ```swift
/// let content = try await client.fetch(endpoint, as: Content.self).value
/// let id = try content.value(at: "moments[0].id", as: Int64.self)
/// let title = try content.value(at: "moments[0].title", as: String?.self)
/// ```
///
/// A path starts at the endpoint's value: at the envelope's model if there is an envelope, at the
/// endpoint's ``Endpoint/valuePath`` below it, or at the top level.
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

    /// Creates content from another source.
    ///
    /// - Parameters:
    ///   - decoder: JSON with ISO 8601 dates by default.
    ///   - envelope: none by default.
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

    /// Returns the value at a path.
    ///
    /// A missing or null value is `nil` for an optional, and an error for other types.
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
    /// - Throws: `DecodingError`, always: `Content` is the whole content, and not a value in it.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "'Content' is the whole content.")
        )
    }
}

extension Content: Equatable {
    /// Whether the bytes are equal.
    public static func == (first: Content, second: Content) -> Bool { first.data == second.data }
}
