import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// Changes the content of one route's responses on their way out. The cache, the store and other
/// requests use the responses as the origin sent them.
protocol ContentTransform: Sendable {
    /// Decides how a response's content is handled, and changes the head accordingly.
    func handle(_ head: inout GatewayResponseHead, of response: TransformedResponse) -> ContentUse

    /// Whether no part of a complete response may be sent, because the client needs all of the
    /// content.
    ///
    /// - Parameter whole: the head of the complete response.
    func needsWhole(_ whole: HTTPResponse) -> Bool

    /// Whether the transform may change a response with this `Content-Type`.
    func concerns(contentType: String) -> Bool

    /// Changes a request so that its response can be transformed.
    func adaptRequest(_ fields: inout HTTPFields, _ method: HTTPRequest.Method)
}

extension ContentTransform {
    func needsWhole(_ whole: HTTPResponse) -> Bool { false }

    func adaptRequest(_ fields: inout HTTPFields, _ method: HTTPRequest.Method) {}
}

/// How a transform handles a response's content.
enum ContentUse {
    /// The content passes through, or there is none.
    case unchanged
    /// The content passes through this stage.
    case transformed(any ContentStage)
    /// The content is a part, and the client needs all of it.
    case partial
    /// The content may be such a part. Only the head of the complete response shows this.
    case maybePartial
}

/// The facts about a response, in addition to its head, that transforms use.
struct TransformedResponse {
    let request: GatewayRequest
    let admission: ClientAdmission
    /// The underlying stored response, if there already is one.
    let stored: StoredResponse?
    /// The length of the content; `nil` if it is unknown.
    let length: StatedLength?

    /// Whether content follows a head with this status.
    func hasContent(_ status: HTTPResponse.Status) -> Bool {
        request.method != .head && status != .notModified && status != .noContent
    }
}

extension HTTPFields {
    /// Removes what describes the origin's bytes, because the client gets other bytes. A strong tag
    /// becomes weak: a strong tag never names two sequences of bytes. RFC 9110 §8.8.1
    mutating func describeOtherBytes() {
        self[.contentLength] = nil
        if let tag = self[.eTag], tag.hasPrefix("\"") { self[.eTag] = "W/" + tag }
        self[.acceptRanges] = nil
        dropDigests()
    }

    /// Removes the digests of the origin's bytes. RFC 9530
    mutating func dropDigests() {
        for name in Self.digests { self[name] = nil }
    }

    private static let digests = [
        HTTPField.Name.literal("Content-MD5"), .literal("Digest"), .literal("Content-Digest"),
        .literal("Repr-Digest"),
    ]

    /// Removes the range from a request. RFC 9110 §14.2 allows a server to ignore it.
    mutating func dropRange() {
        self[.range] = nil
        self[.ifRange] = nil
    }
}
