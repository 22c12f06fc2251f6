import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore
import OriginConnections

/// Rewrites the response for the exchange's client, after the cache and before the client's
/// protocol.
extension ClientExchange {
    /// The client that the response is rewritten for; `nil` if nothing is rewritten.
    private var rewriteClient: RewriteClient? { rewriting?.client(session.client, of: request) }

    /// Rewrites the fields of a head, and decides how to handle the content.
    ///
    /// - Parameter stored: the head of the underlying stored response.
    func rewriteHead(_ head: inout GatewayResponseHead, stored: StoredResponseHead?) -> ResponseRewriting.Content {
        guard let rewriting else { return .unchanged }
        if rewriting.rewriteFields(
            &head.response.headerFields,
            for: rewriting.client(session.client, of: request)
        ) {
            head.isForOneClient = true
        }
        let content = rewriting.content(of: head.response, stored: stored, for: request.fields)
        if content == .rewritten { ResponseRewriting.adapt(&head.response.headerFields) }
        return content
    }

    /// Rewrites the fields of an interim response, for example the links of a 103 (RFC 8297).
    func rewriteInterim(_ fields: inout HTTPFields) {
        guard let rewriting else { return }
        _ = rewriting.rewriteFields(&fields, for: rewriting.client(session.client, of: request))
    }

    /// Whether a response must not be relayed unchanged.
    func rewrites(_ response: any RelayedResponse) -> Bool {
        guard let rewriting else { return false }
        guard let message = response as? RelayedMessage else { return true }
        return message.hasReferences || message.contentType.map { rewriting.concerns(contentType: $0) } ?? false
    }

    /// Writes a response that is in memory, rewritten if necessary.
    ///
    /// - Parameter hit: the stored response, if an identical request may get the same bytes.
    func finish(_ response: CacheResponse, _ whole: ByteBuffer, hit: ImmediateHit? = nil) {
        var head = head(of: response)
        switch rewriteHead(&head, stored: response.stored?.head) {
        case .unchanged:
            let candidate = hit.flatMap { session.hotCandidate(hotKey, $0, head, to: request, of: record.route) }
            finish(with: candidate.map { .stored(head, whole, $0) } ?? .whole(head, whole))
        case .rewritten where request.method == .head || whole.readableBytes <= ResponseRewriting.pieceLimit:
            finish(with: .whole(head, rewrite(whole, of: head)))
        case .rewritten, .partial, .maybePartial:
            var response = response
            response.body = BodyStream(whole)
            startTask(for: .response(response))
        }
    }

    /// Whether the content is rewritten before the head is written: it is short, or there is none.
    func isShort(_ whole: ByteBuffer) -> Bool {
        request.method == .head || whole.readableBytes <= ResponseRewriting.wholeLimit
    }

    /// Rewrites content in one piece.
    private func rewrite(_ whole: ByteBuffer, of head: GatewayResponseHead) -> ByteBuffer {
        guard request.method != .head, whole.readableBytes > 0, let client = rewriteClient else { return ByteBuffer() }
        var rewriter = BodyRewriter(for: client, contentType: head.response.headerFields[.contentType])
        return rewriter.rewrite(whole, isLast: true)
    }

    /// Rewrites short content, piece by piece.
    func rewriteInPieces(_ whole: ByteBuffer, of head: GatewayResponseHead) async throws -> ByteBuffer {
        guard request.method != .head, let client = rewriteClient else { return ByteBuffer() }
        var rewriter = BodyRewriter(for: client, contentType: head.response.headerFields[.contentType])
        var (rest, result) = (whole, ByteBuffer())
        while let piece = Self.nextPiece(&rest) {
            result.writeImmutableBuffer(rewriter.rewrite(piece, isLast: rest.readableBytes == 0))
            await Task.yield()
            try await enterLoop()
        }
        return result
    }

    /// Returns the next piece to rewrite; `nil` at the end.
    private static func nextPiece(_ rest: inout ByteBuffer) -> ByteBuffer? {
        let length = min(rest.readableBytes, ResponseRewriting.pieceLimit)
        return length > 0 ? rest.readSlice(length: length) : nil
    }

    /// Writes content in pieces, each rewritten as it arrives.
    func streamRewritten(_ head: GatewayResponseHead, _ content: BodyStream) async throws {
        guard let client = rewriteClient else { return }
        startStream(head, length: nil)
        var rewriter = BodyRewriter(for: client, contentType: head.response.headerFields[.contentType])
        for try await var chunk in content {
            while let piece = Self.nextPiece(&chunk) {
                try await enterLoop()
                let rewritten = rewriter.rewrite(piece)
                if rewritten.readableBytes > 0 { try await write(rewritten)?.get() }
                // Lets the loop poll its sockets if this has taken long.
                await Task.yield()
            }
        }
        try await enterLoop()
        let rest = rewriter.rewrite(ByteBuffer(), isLast: true)
        if rest.readableBytes > 0 { try await write(rest)?.get() }
        try await enterLoop()
        var trailers = content.trailers
        ResponseRewriting.dropDigests(&trailers)
        finishStream(trailers)
    }

    /// Finds out whether the complete content would be rewritten, which a 416 does not show. Then
    /// responds to the request again.
    func settleRange() async {
        let service = session.service
        var isRewritten = false
        do {
            var request = try await service.cacheRequest(for: self, responseContext.inForce)
            request.head.method = .head
            ResponseRewriting.dropRange(&request.head.headerFields)
            let whole = try await service.engine.respond(to: request).head
            isRewritten = whole.status.code == 200 && rewriting?.content(of: whole, stored: nil, for: [:]) == .rewritten
        } catch {
            // Nothing shows that the content is rewritten, so the range is used as requested.
        }
        guard (try? await enterLoop()) != nil else { return }
        rangeUse = isRewritten ? .ignored : .settled
        await respond(from: .request)
    }
}
