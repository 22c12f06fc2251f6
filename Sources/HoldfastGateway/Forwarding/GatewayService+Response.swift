import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// The client's answer of the cache's.
extension GatewayService {
    /// What an answer's head depends on beside the answer.
    struct Answering {
        let inForce: ConfigurationInForce
        /// Whether the client is to know why it gets what it gets.
        let showsDetails: Bool

        init(_ inForce: ConfigurationInForce, _ client: GatewayClient?) {
            self.inForce = inForce
            showsDetails =
                !inForce.configuration.hidesCacheStatusDetails || inForce.configuration.isTrusted(client?.address)
        }
    }

    func send(_ response: CacheResponse, _ answering: Answering, to sink: some ResponseSink) async throws {
        let head = finished(response, answering)
        if let whole = response.body.whole { return try await sink.answer(head, whole) }
        try await sink.start(head)
        for try await chunk in response.body { try await sink.write(chunk) }
        try await sink.finish()
    }

    /// An answer whose content is there already, for who does not wait.
    func whole(_ response: CacheResponse, for client: GatewayClient) -> (
        head: GatewayResponseHead, content: ByteBuffer
    )? {
        guard let content = response.body.whole else { return nil }
        return (finished(response, Answering(live.current, client)), content)
    }

    /// The head as clients get it.
    func finished(_ response: CacheResponse, _ answering: Answering) -> GatewayResponseHead {
        var head = response.head
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        let length = response.body.length ?? head.headerFields[.contentLength].flatMap { Int64($0) }
        return complete(head, length: length, response.outcome, answering)
    }

    /// An answer that passes as it came, as far as it is written in one piece.
    ///
    /// - Parameter content: `nil` where it is written behind this.
    func bytes(
        of response: RelayedResponse,
        for client: GatewayClient,
        _ framing: ResponseFraming,
        content: ByteBuffer?
    ) -> ByteBuffer {
        let answering = Answering(live.current, client)
        return framing.bytes(
            of: response,
            date: response.hasDate ? nil : HTTPDate.format(clock.now()),
            via: answering.inForce.via,
            cacheStatus: answering.showsDetails ? Self.detailedMiss : Self.miss,
            content: content
        )
    }

    func send(_ problem: Problem, _ answering: Answering, to sink: some ResponseSink) async throws {
        let (head, body) = message(problem, answering)
        sink.discardContent()
        try await sink.answer(head, body)
    }

    /// The response to OPTIONS that is meant for the gateway itself: the methods that it forwards,
    /// all that are known but CONNECT. RFC 9110 §9.3.7
    func sendOptions(_ answering: Answering, to sink: some ResponseSink) async throws {
        var head = HTTPResponse(status: .noContent)
        head.headerFields[.allow] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, QUERY"
        head.headerFields[.cacheControl] = "no-store"
        let outcome = CacheOutcome(detail: CacheOutcome.Detail("gateway"))
        sink.discardContent()
        try await sink.answer(complete(head, length: 0, outcome, answering), ByteBuffer())
    }

    /// The answer to bytes that are no request.
    func problem(for refusal: MessageRefusal) -> (head: GatewayResponseHead, body: ByteBuffer) {
        message(Problem(refusal))
    }

    /// The answer to whoever it is that sends no request.
    func message(_ problem: Problem) -> (head: GatewayResponseHead, body: ByteBuffer) {
        message(problem, Answering(live.current, nil))
    }

    private func message(_ problem: Problem, _ answering: Answering) -> (head: GatewayResponseHead, body: ByteBuffer) {
        let body = problem.json
        var head = HTTPResponse(status: HTTPResponse.Status(code: problem.status))
        head.headerFields[.contentType] = "application/problem+json"
        // For the answer to HEAD, which says how long the one to GET would be.
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        return (complete(head, length: Int64(body.readableBytes), problem.outcome, answering), body)
    }

    /// Adds what every answer has: the gateway's `Cache-Status` behind those of caches nearer the
    /// origin (RFC 9211 §2), `Via`, and `Date` (RFC 9110 §6.6.1).
    private func complete(
        _ head: HTTPResponse,
        length: Int64?,
        _ outcome: CacheOutcome,
        _ answering: Answering
    ) -> GatewayResponseHead {
        var head = head
        if !head.headerFields.contains(.date) {
            head.headerFields.append(HTTPField(name: .date, value: HTTPDate.format(clock.now())))
        }
        if answering.showsDetails {
            head.headerFields.dropUnreadableCacheStatus()
        } else {
            // What other caches say of themselves is no more for everybody than what this one
            // would.
            head.headerFields[.cacheStatus] = nil
        }
        return GatewayResponseHead(
            response: head,
            via: answering.inForce.via,
            cacheStatus: told(outcome, answering).cacheStatus(),
            length: length
        )
    }

    /// What of an outcome the client is to know.
    private func told(_ outcome: CacheOutcome, _ answering: Answering) -> CacheOutcome {
        answering.showsDetails ? outcome : Self.withoutDetails(outcome)
    }

    private static func withoutDetails(_ outcome: CacheOutcome) -> CacheOutcome {
        CacheOutcome(isHit: outcome.isHit, forward: outcome.isHit ? nil : .miss)
    }

    /// `Cache-Status` of what passes as it came, in full and without details.
    private static let detailedMiss = CacheOutcome.uriMiss.cacheStatus()
    private static let miss = withoutDetails(.uriMiss).cacheStatus()
}
