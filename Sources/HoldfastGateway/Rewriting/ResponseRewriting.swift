import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import NIOCore

/// How the responses of one route are rewritten for a client, on their way out. The cache, the
/// store and other requests have them as the origin sent them.
///
/// A class, because each exchange refers to that of its route.
final class ResponseRewriting: Sendable {
    private let map: RewriteMap
    private let route: Int
    private let settings: Configuration.Rewriting
    private let configuration: GatewayConfiguration

    /// The longest content that is rewritten, by its `Content-Length`. 16 MiB
    ///
    /// Content without that field is rewritten to its end, however long it is: it cannot be left
    /// alone once it has begun, and half of it must not be rewritten.
    static let contentLimit: Int64 = 16 << 20
    /// The longest content that is rewritten before its head is written, so that its length is
    /// known. 64 KiB
    static let wholeLimit = 64 << 10
    /// The pieces in which content is rewritten, so that other requests get their turn. 8 KiB
    static let pieceLimit = 8 << 10

    /// - Returns: `nil` if the route rewrites nothing.
    init?(_ configuration: GatewayConfiguration, _ map: RewriteMap, route: Int) {
        settings = configuration.routes.routes[route].rewriting
        guard settings != .none else { return nil }
        self.configuration = configuration
        self.map = map
        self.route = route
    }

    /// Whether some content is rewritten.
    var concernsContent: Bool { !settings.bodies.isEmpty }

    /// The client to which URLs must lead.
    func client(_ client: GatewayClient, of request: GatewayRequest) -> RewriteClient {
        var scheme = client.scheme
        // As in `X-Forwarded-Proto`, which origins get.
        if client.isTrusted(by: configuration) {
            switch request.fields[.xForwardedProto]?.lowercased() {
            case "https": scheme = "https"
            case "http": scheme = "http"
            default: break
            }
        }
        let authority = request.authority?.authority(for: scheme)
        return RewriteClient(map, route: route, scheme: scheme, authority: authority)
    }

    // MARK: Fields

    /// Rewrites the fields of a response.
    ///
    /// - Returns: whether a field names something of an origin's.
    func rewriteFields(_ fields: inout HTTPFields, for client: @autoclosure () -> RewriteClient) -> Bool {
        // By index, because a loop over the fields would copy each one.
        let places = fields.indices
        guard settings.location, places.contains(where: { FieldRewriter.concerns(fields[$0].name.canonicalName) })
        else { return false }
        var rewriter = FieldRewriter(for: client())
        rewriter.rewrite(&fields)
        return rewriter.hasFound
    }

    // MARK: Content

    /// The effect on the content of a response.
    enum Content: Hashable {
        case unchanged
        case rewritten
        /// It is a part of content that would be rewritten: the whole is needed.
        case partial
        /// It may be such a part. The head of the whole tells.
        case maybePartial
    }

    /// The effect on the content of a response.
    ///
    /// - Parameters:
    ///   - stored: the head of the stored response behind it.
    ///   - request: the fields of the client's request.
    func content(of head: HTTPResponse, stored: StoredResponseHead?, for request: HTTPFields) -> Content {
        guard concernsContent else { return .unchanged }
        switch head.status.code {
        case 206:
            // As the whole is treated, whose length may not be known.
            if let stored { return rewrites(stored.fields) ? .partial : .unchanged }
            // A whole of unknown length is rewritten to its end, however long one part of it is.
            let length = ContentRange(head.headerFields)?.completeLength ?? 0
            return rewrites(head.headerFields, length: length) ? .partial : .unchanged
        case 416:
            if let stored { return rewrites(stored.fields) ? .partial : .unchanged }
            // It states the length of the whole, as a 206 does, but not its type.
            let length = ContentRange.unsatisfiedLength(head.headerFields)
            return length?.isWithin(Self.contentLimit) ?? true ? .maybePartial : .unchanged
        case 304:
            // As the whole was treated, whose length and type the 304 need not state.
            if let stored { return rewrites(stored.fields) ? .rewritten : .unchanged }
            // A client has the strong tag only of content that was not rewritten.
            if EntityTag.isNamed(strong: head.headerFields, inIfNoneMatch: request) { return .unchanged }
            // An origin's own may say nothing of the content.
            return rewrites(head.headerFields) || !head.headerFields.contains(.contentType) ? .rewritten : .unchanged
        default: return rewrites(head.headerFields) ? .rewritten : .unchanged
        }
    }

    /// Whether the content of a whole response with these fields is rewritten.
    private func rewrites(_ fields: HTTPFields, length: StatedLength? = nil) -> Bool {
        guard let type = fields[.contentType], settings.bodies.contains(Self.mediaType(type)),
            fields[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }),
            !fields.listMembers(.cacheControl).contains("no-transform")
        else { return false }
        return (length ?? ContentLength(fields).bytes)?.isWithin(Self.contentLimit) ?? true
    }

    /// Whether a response's content may be rewritten, by its media type alone.
    func concerns(mediaType: String) -> Bool { settings.bodies.contains(Self.mediaType(mediaType)) }

    private static func mediaType(_ contentType: String) -> String {
        String(decoding: contentType.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmingWhitespace(), as: UTF8.self)
            .lowercased()
    }

    /// Removes the fields that describe the origin's bytes, which the client does not get.
    static func adapt(_ fields: inout HTTPFields) {
        fields[.contentLength] = nil
        if let tag = fields[.eTag], tag.hasPrefix("\"") { fields[.eTag] = "W/" + tag }
        fields[.acceptRanges] = nil
        dropDigests(&fields)
    }

    /// Removes the digests from a section of trailers, which may not be there.
    static func dropDigests(_ trailers: inout HTTPFields?) {
        guard var fields = trailers else { return }
        dropDigests(&fields)
        trailers = fields
    }

    private static func dropDigests(_ fields: inout HTTPFields) {
        for name in digests { fields[name] = nil }
    }

    private static let digests = [
        HTTPField.Name.literal("Content-MD5"), .literal("Digest"), .literal("Content-Digest"),
        .literal("Repr-Digest"),
    ]

    // MARK: The request

    /// Changes a request so that its response can be rewritten.
    ///
    /// Coded content cannot be. Parts of it cannot be either; a GET for one range asks for the
    /// whole again if its response would be rewritten.
    func adaptRequest(_ fields: inout HTTPFields, _ method: HTTPRequest.Method) {
        guard concernsContent else { return }
        fields[.acceptEncoding] = "identity"
        if method != .get || fields[.range]?.contains(",") == true { Self.dropRange(&fields) }
    }

    /// RFC 9110 §14.2 allows a server to ignore it.
    static func dropRange(_ fields: inout HTTPFields) {
        fields[.range] = nil
        fields[.ifRange] = nil
    }
}
