public import HTTPTypes

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A whole, decompressed response, as processing, validation and decoding see it.
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

    /// Creates content that came from no origin, for a ``SubstitutingPlugin`` or a test.
    ///
    /// If a client reads it, the call's decoding applies. Otherwise it decodes as JSON with ISO
    /// 8601 dates, without an envelope.
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

    /// Creates JSON that came from no origin, with its media type; see ``init(_:status:fields:)``.
    public init(json: String, status: HTTPResponse.Status = .ok) {
        self.init(Data(json.utf8), status: status, fields: [.contentType: "application/json"])
    }

    /// Decodes the content as a value: below the envelope's model, at the endpoint's path.
    ///
    /// - Parameter path: the path of the value, in place of the endpoint's.
    /// - Throws: ``HoldfastError`` with code `decodingFailed`, `noData` or `envelope`.
    public func decode<Value: Decodable>(_ type: Value.Type, at path: ValuePath? = nil) throws -> Value {
        var decoding = decoding
        if let path { decoding.path = path }
        return try decoding.decode(type, from: data, status: head.status, target: target)
    }

    /// Rejects content that is not the client's envelope of a success, if there is one.
    func checkEnvelope() throws {
        try decoding.checkEnvelope(data, status: head.status, target: target)
    }

    /// Rejects an envelope that reports a failure, if the content may be one.
    func rejectFailure() throws {
        try decoding.rejectFailure(data, status: head.status, target: target)
    }
}
