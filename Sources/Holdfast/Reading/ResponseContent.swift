public import HTTPTypes
public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A complete, decompressed response, as passed to processing, validation and decoding.
public struct ResponseContent: Sendable {
    /// The status and fields.
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

    /// Creates content that did not come from an origin, for a ``SubstitutingPlugin`` or a test.
    ///
    /// If a client reads the content, the call's decoding applies. Otherwise it is decoded as JSON
    /// with ISO 8601 dates and without an envelope.
    public init(_ data: Data, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) {
        self.init(
            head: HTTPResponse(status: status, headerFields: fields),
            data: data,
            decoding: ContentDecoding(
                decoder: CachingClient.Configuration.defaultDecoder,
                envelope: nil,
                path: ValuePath(),
                emptyContent: .missing
            ),
            target: MessageTarget("content of no origin")
        )
    }

    /// Creates JSON content that did not come from an origin, with its media type: see
    /// ``init(_:status:fields:)``.
    public init(json: String, status: HTTPResponse.Status = .ok) {
        self.init(Data(json.utf8), status: status, fields: [.contentType: "application/json"])
    }

    /// Decodes the value at the endpoint's path. If there is an envelope, the path starts at the
    /// envelope's model.
    ///
    /// - Parameter path: the path to use instead of the endpoint's path.
    /// - Throws: `HoldfastError` with code `decodingFailed`, `noData` or `envelope`.
    public func decode<Value: Decodable>(_ type: Value.Type, at path: ValuePath? = nil) throws -> Value {
        var decoding = decoding
        if let path { decoding.path = path }
        return try decoding.decode(type, from: data, status: head.status, target: target)
    }

    /// Rejects content that is not a successful envelope, if the client has an envelope.
    func checkEnvelope() throws {
        try decoding.checkEnvelope(data, status: head.status, target: target)
    }

    /// Rejects content that may be an envelope and reports a failure.
    func rejectFailure() throws {
        try decoding.rejectFailure(data, status: head.status, target: target)
    }
}
