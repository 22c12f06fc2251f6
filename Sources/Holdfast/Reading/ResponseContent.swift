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

    init(head: HTTPResponse, data: Data, decoding: ContentDecoding, target: MessageTarget) {
        self.head = head
        self.data = data
        self.decoding = decoding
        self.target = target
    }

    /// Content that came from no origin: a ``SubstitutingPlugin``'s, or a test's.
    ///
    /// Where a client reads it, the call says how. By itself it decodes as JSON with ISO 8601
    /// dates, in no envelope.
    public init(_ data: Data, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) {
        self.init(
            head: HTTPResponse(status: status, headerFields: fields),
            data: data,
            decoding: ContentDecoding(
                decoder: CachingClient.Configuration.defaultDecoder,
                envelope: nil,
                path: ValuePath(),
                emptyContent: .isMissing
            ),
            target: MessageTarget("content of no origin")
        )
    }

    /// JSON that came from no origin, with its media type; see ``init(_:status:fields:)``.
    public init(json: String, status: HTTPResponse.Status = .ok) {
        self.init(Data(json.utf8), status: status, fields: [.contentType: "application/json"])
    }

    /// The content as a value: of the envelope's model, at the endpoint's path.
    ///
    /// - Parameter path: where it stands, in place of the endpoint's.
    /// - Throws: ``HoldfastError`` with code `decodingFailed`, `noData` or `envelope`.
    public func decode<Value: Decodable>(_ type: Value.Type, at path: ValuePath? = nil) throws -> Value {
        var decoding = decoding
        if let path { decoding.path = path }
        return try decoding.decode(type, from: data, status: head.status, target: target)
    }

    /// Refuses what is not the client's envelope of a success, where there is one.
    func checkEnvelope() throws {
        try decoding.checkEnvelope(data, status: head.status, target: target)
    }

    /// Refuses an envelope that says failure, where this may be one.
    func refuseFailure() throws {
        try decoding.refuseFailure(data, status: head.status, target: target)
    }
}
