import HTTPTypes
public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a response. You can read individual values from it without a model.
///
/// ```swift
/// let content = try await client.fetch(endpoint, as: RawContent.self).value
/// let id = try content.value(at: "moments[0].id", as: Int64.self)
/// let title = try content.value(at: "moments[0].title", as: String?.self)
/// ```
///
/// A path starts at the endpoint's value, which is one of these:
/// - the value at the endpoint's ``Endpoint/valuePath``, if it has one
/// - otherwise the envelope's model, if there is an envelope
/// - otherwise the top level
public struct RawContent: Sendable {
    /// The bytes of the content.
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
    ///   - decoder: the decoder; by default, JSON with ISO 8601 dates.
    ///   - envelope: the envelope; none by default.
    public init(
        _ data: Data,
        decoder: any ResponseDecoder = CachingClient.Configuration.defaultDecoder,
        envelope: Envelope? = nil
    ) {
        let decoding = ContentDecoding(
            decoder: decoder,
            envelope: envelope,
            path: ValuePath(),
            emptyContent: .missing
        )
        self.init(data, decoding: decoding, status: .ok, target: MessageTarget("content"))
    }

    /// Returns the value at a path.
    ///
    /// A missing or null value becomes `nil` for an optional, and an error for other types.
    /// - Throws: `HoldfastError` with code `envelope`, `noData` or `decodingFailed`.
    ///   `HoldfastError.codingPath` holds the location of the error.
    public func value<Value: Decodable>(
        at path: ValuePath = ValuePath(),
        as type: Value.Type = Value.self
    ) throws -> Value {
        var decoding = decoding
        decoding.path = decoding.path.appending(path)
        return try decoding.decode(type, from: data, status: status, target: target)
    }
}

extension RawContent: Decodable {
    /// - Throws: `DecodingError`, always, because `RawContent` is the whole content and cannot be a
    ///   value inside it.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription: "'RawContent' is the whole content."
            )
        )
    }
}

extension RawContent: Equatable {
    /// Returns whether the bytes are equal.
    public static func == (first: RawContent, second: RawContent) -> Bool { first.data == second.data }
}
