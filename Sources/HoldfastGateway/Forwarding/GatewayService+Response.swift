import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Turns the cache's response into one for the client.
extension GatewayService {
    /// The configuration and the client on which a response's head depends.
    struct ResponseContext {
        let inForce: ConfigurationInForce
        /// Whether the client may see why it gets this response.
        let showsDetails: Bool

        init(_ inForce: ConfigurationInForce, _ client: GatewayClient?) {
            self.inForce = inForce
            showsDetails =
                !inForce.configuration.hidesCacheStatusDetails || inForce.configuration.isTrusted(client?.address)
        }
    }

    func send(_ response: CacheResponse, _ context: ResponseContext, to sink: some ResponseSink) async throws {
        let head = responseHead(response, context)
        if let whole = response.body.whole { return try await sink.answer(head, whole) }
        try await sink.start(head)
        for try await chunk in response.body { try await sink.write(chunk) }
        try await sink.finish()
    }

    /// The response, if its content is already in memory; for callers that cannot wait.
    func wholeResponse(_ response: CacheResponse, for client: GatewayClient) -> (
        head: GatewayResponseHead, content: ByteBuffer
    )? {
        guard let content = response.body.whole else { return nil }
        return (responseHead(response, ResponseContext(live.current, client)), content)
    }

    /// The head that a client gets.
    func responseHead(_ response: CacheResponse, _ context: ResponseContext) -> GatewayResponseHead {
        var head = response.head
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        let length = response.body.length ?? head.headerFields[.contentLength].flatMap { Int64($0) }
        return completeHead(head, length: length, response.outcome, context)
    }

    /// The bytes of a relayed response, as far as they are written in one piece.
    ///
    /// - Parameter content: the content; `nil` if it is written afterwards.
    func bytes(
        of response: RelayedResponse,
        for client: GatewayClient,
        _ framing: ResponseFraming,
        content: ByteBuffer?
    ) -> ByteBuffer {
        let context = ResponseContext(live.current, client)
        return framing.bytes(
            of: response,
            date: response.hasDate ? nil : HTTPDate.format(clock.now()),
            via: context.inForce.via,
            cacheStatus: context.showsDetails ? Self.detailedMiss : Self.miss,
            content: content
        )
    }

    func send(_ problem: Problem, _ context: ResponseContext, to sink: some ResponseSink) async throws {
        let (head, body) = problemResponse(problem, context)
        sink.discardContent()
        try await sink.answer(head, body)
    }

    /// Sends the response to OPTIONS for the gateway itself: the methods that it forwards, which
    /// are all known methods but CONNECT. RFC 9110 §9.3.7
    func sendOptions(_ context: ResponseContext, to sink: some ResponseSink) async throws {
        var head = HTTPResponse(status: .noContent)
        head.headerFields[.allow] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, QUERY"
        head.headerFields[.cacheControl] = "no-store"
        let outcome = CacheOutcome(detail: CacheOutcome.Detail("gateway"))
        sink.discardContent()
        try await sink.answer(completeHead(head, length: 0, outcome, context), ByteBuffer())
    }

    /// The response to bytes that are not a valid request.
    func problemResponse(to refusal: MessageRefusal) -> (head: GatewayResponseHead, body: ByteBuffer) {
        problemResponse(Problem(refusal))
    }

    /// The response to a client that has sent no request.
    func problemResponse(_ problem: Problem) -> (head: GatewayResponseHead, body: ByteBuffer) {
        problemResponse(problem, ResponseContext(live.current, nil))
    }

    private func problemResponse(_ problem: Problem, _ context: ResponseContext) -> (
        head: GatewayResponseHead, body: ByteBuffer
    ) {
        let body = problem.json
        var head = HTTPResponse(status: HTTPResponse.Status(code: problem.status))
        head.headerFields[.contentType] = "application/problem+json"
        // The response to HEAD states the length that the response to GET would have.
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        return (completeHead(head, length: Int64(body.readableBytes), problem.outcome, context), body)
    }

    /// Adds the fields of every response: the gateway's `Cache-Status` after those of caches nearer
    /// the origin (RFC 9211 §2), `Via`, and `Date` (RFC 9110 §6.6.1).
    private func completeHead(
        _ head: HTTPResponse,
        length: Int64?,
        _ outcome: CacheOutcome,
        _ context: ResponseContext
    ) -> GatewayResponseHead {
        var head = head
        if !head.headerFields.contains(.date) {
            head.headerFields.append(HTTPField(name: .date, value: HTTPDate.format(clock.now())))
        }
        if context.showsDetails {
            head.headerFields.dropUnreadableCacheStatus()
        } else {
            // The entries of other caches are hidden from this client, like those of this gateway.
            head.headerFields[.cacheStatus] = nil
        }
        let member = visibleOutcome(outcome, for: context).cacheStatusMember()
        return GatewayResponseHead(
            response: head,
            via: context.inForce.via,
            cacheStatus: member.text,
            timeToLive: member.timeToLive,
            length: length
        )
    }

    /// The part of the outcome that this client may see.
    private func visibleOutcome(_ outcome: CacheOutcome, for context: ResponseContext) -> CacheOutcome {
        context.showsDetails ? outcome : Self.withoutDetails(outcome)
    }

    private static func withoutDetails(_ outcome: CacheOutcome) -> CacheOutcome {
        CacheOutcome(isHit: outcome.isHit, forward: outcome.isHit ? nil : .miss)
    }

    /// `Cache-Status` of relayed responses, with and without details.
    private static let detailedMiss = CacheOutcome.uriMiss.cacheStatus()
    private static let miss = withoutDetails(.uriMiss).cacheStatus()
}
