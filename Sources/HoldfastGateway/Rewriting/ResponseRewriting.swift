import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastConfiguration
import NIOCore

/// Rewrites one route's responses for a client, on their way out. The cache, the store and other
/// requests use the responses as the origin sent them.
///
/// A class, because each exchange refers to its route's instance.
final class ResponseRewriting: Sendable {
    private let map: RewriteMap
    private let route: Int
    private let settings: Configuration.Rewriting
    private let configuration: GatewayConfiguration

    /// The maximum length of content that is rewritten, according to its `Content-Length`: 16 MiB
    ///
    /// Content without that field is rewritten to its end, however long it is: once rewriting has
    /// begun it cannot be undone, and content must not be rewritten in part.
    static let contentLimit: Int64 = 16 << 20

    /// - Returns: `nil` if the route rewrites nothing.
    init?(_ configuration: GatewayConfiguration, _ map: RewriteMap, route: Int) {
        settings = configuration.routes.routes[route].rewriting
        guard settings != .none else { return nil }
        self.configuration = configuration
        self.map = map
        self.route = route
    }

    /// Whether any content is rewritten.
    var concernsContent: Bool { !settings.bodies.isEmpty }

    /// Returns the client that a request's response is rewritten for; `nil` if it requested the
    /// origin's own URL.
    func client(_ client: GatewayClient, of request: GatewayRequest) -> RewriteClient? {
        let scheme = client.scheme(of: request.fields, by: configuration)
        if configuration.routes.forward(request) { return RewriteClient(ofProxy: request, scheme: scheme) }
        let authority = request.authority?.authority(for: scheme)
        return RewriteClient(map, route: route, scheme: scheme, authority: authority)
    }

    // MARK: Fields

    /// Rewrites a response's fields.
    ///
    /// - Returns: whether a field contains something that belongs to an origin.
    func rewriteFields(_ fields: inout HTTPFields, for client: @autoclosure () -> RewriteClient?) -> Bool {
        // By index, because a loop over the fields would copy each one.
        let places = fields.indices
        guard settings.location, places.contains(where: { ReferenceFields.contains(fields[$0].name.canonicalName) })
        else { return false }
        guard let client = client() else { return false }
        var rewriter = FieldRewriter(for: client)
        rewriter.rewrite(&fields)
        return rewriter.hasFound
    }

    // MARK: Content

    /// How a response's content is handled.
    enum Content: Hashable {
        case unchanged
        case rewritten
        /// The content is a part of content that would be rewritten, so the complete content is
        /// needed.
        case partial
        /// The content may be such a part. Only the head of the complete response shows this.
        case maybePartial
    }

    /// Decides how a response's content is handled.
    ///
    /// - Parameters:
    ///   - stored: the head of the underlying stored response.
    ///   - request: the fields of the client's request.
    func content(of head: HTTPResponse, stored: StoredResponseHead?, for request: HTTPFields) -> Content {
        guard concernsContent else { return .unchanged }
        switch head.status.code {
        case 206:
            // Handled like the complete response, whose length may be unknown.
            if let stored { return rewrites(stored.fields) ? .partial : .unchanged }
            // A complete response of unknown length is rewritten to its end, however long one part
            // is.
            let length = ContentRange(head.headerFields)?.completeLength ?? 0
            return rewrites(head.headerFields, length: length) ? .partial : .unchanged
        case 416:
            if let stored { return rewrites(stored.fields) ? .partial : .unchanged }
            // Like a 206, it states the complete length, but it does not state the type.
            let length = ContentRange.unsatisfiedLength(head.headerFields)
            return length?.isWithin(Self.contentLimit) ?? true ? .maybePartial : .unchanged
        case 304:
            // Handled like the complete response, whose length and type the 304 need not state.
            if let stored { return rewrites(stored.fields) ? .rewritten : .unchanged }
            // A client has a strong tag only for content that was not rewritten.
            if EntityTag.isNamed(strong: head.headerFields, inIfNoneMatch: request) { return .unchanged }
            // The origin's own 304 may say nothing about the content.
            return rewrites(head.headerFields) || !head.headerFields.contains(.contentType) ? .rewritten : .unchanged
        default: return rewrites(head.headerFields) ? .rewritten : .unchanged
        }
    }

    /// Whether the content of a complete response with these fields is rewritten.
    private func rewrites(_ fields: HTTPFields, length: StatedLength? = nil) -> Bool {
        guard let type = fields[.contentType], settings.bodies.contains(type.mediaType),
            fields.contentCodings.isEmpty, !fields.forbidsTransforming
        else { return false }
        return (length ?? ContentLength(fields).bytes)?.isWithin(Self.contentLimit) ?? true
    }

    /// Whether a response's content may be rewritten, judged only by its media type.
    func concerns(contentType: String) -> Bool { settings.bodies.contains(contentType.mediaType) }

    // MARK: The request

    /// Changes a request so that its response can be rewritten.
    ///
    /// Encoded content cannot be rewritten, and neither can a part of the content. A GET for one
    /// range requests the complete content again if its response would be rewritten.
    func adaptRequest(_ fields: inout HTTPFields, _ method: HTTPRequest.Method) {
        guard concernsContent else { return }
        fields[.acceptEncoding] = "identity"
        if method != .get || fields[.range]?.contains(",") == true { fields.dropRange() }
    }
}

extension ResponseRewriting: ContentTransform {
    func handle(_ head: inout GatewayResponseHead, of response: TransformedResponse) -> ContentUse {
        switch content(of: head.response, stored: response.stored?.head, for: response.request.fields) {
        case .unchanged: return .unchanged
        case .partial: return .partial
        case .maybePartial: return .maybePartial
        case .rewritten:
            head.response.headerFields.describeOtherBytes()
            // The content has the URLs that this client requests.
            head.isForOneClient = true
            guard response.hasContent(head.response.status) else { return .unchanged }
            guard let client = client(response.admission.client, of: response.request) else { return .unchanged }
            return .transformed(BodyRewriter(for: client, contentType: head.response.headerFields[.contentType]))
        }
    }

    func needsWhole(_ whole: HTTPResponse) -> Bool {
        whole.status.code == 200 && content(of: whole, stored: nil, for: [:]) == .rewritten
    }
}

extension BodyRewriter: ContentStage {
    mutating func take(_ piece: inout ByteBuffer) -> ByteBuffer { rewrite(exchange(&piece, with: ByteBuffer())) }

    mutating func end() -> ByteBuffer { rewrite(ByteBuffer(), isLast: true) }
}
