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
        let (head, length) = finished(response, answering)
        if let whole = response.body.whole { return try await sink.answer(head, whole) }
        try await sink.start(head, length: length)
        for try await chunk in response.body { try await sink.write(chunk) }
        try await sink.finish()
    }

    /// An answer whose content is there already, for who does not wait.
    func whole(_ response: CacheResponse, for client: GatewayClient) -> (head: HTTPResponse, content: ByteBuffer)? {
        guard let content = response.body.whole else { return nil }
        return (finished(response, Answering(live.current, client)).head, content)
    }

    /// The head as clients get it, and the content's length where it is known.
    func finished(_ response: CacheResponse, _ answering: Answering) -> (head: HTTPResponse, length: Int64?) {
        var head = response.head
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        complete(&head.headerFields, response.outcome, answering)
        return (head, response.body.length ?? head.headerFields[.contentLength].flatMap { Int64($0) })
    }

    func send(_ problem: Problem, _ answering: Answering, to sink: some ResponseSink) async throws {
        let (head, body) = message(problem, answering)
        sink.discardContent()
        try await sink.answer(head, body)
    }

    /// The answer to octets that are no request.
    func problem(for refusal: MessageRefusal) -> (head: HTTPResponse, body: ByteBuffer) {
        message(Problem(refusal))
    }

    /// The answer to whoever it is that sends no request.
    func message(_ problem: Problem) -> (head: HTTPResponse, body: ByteBuffer) {
        message(problem, Answering(live.current, nil))
    }

    private func message(_ problem: Problem, _ answering: Answering) -> (head: HTTPResponse, body: ByteBuffer) {
        let body = problem.json
        var head = HTTPResponse(status: HTTPResponse.Status(code: problem.status))
        head.headerFields[.contentType] = "application/problem+json"
        // For the answer to HEAD, which says how long the one to GET would be.
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        complete(&head.headerFields, problem.outcome, answering)
        return (head, body)
    }

    /// Adds what every answer has: the gateway's `Cache-Status` behind those of caches nearer the origin (RFC 9211 §2), `Via`, and
    /// `Date` (RFC 9110 §6.6.1).
    private func complete(_ fields: inout HTTPFields, _ outcome: CacheOutcome, _ answering: Answering) {
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(clock.now()))) }
        fields.append(answering.inForce.via(minorVersion: 1))
        guard !answering.showsDetails else { return outcome.append(to: &fields) }
        // What other caches say of themselves is no more for everybody than what this one would.
        fields[.cacheStatus] = nil
        CacheOutcome(isHit: outcome.isHit, forward: outcome.isHit ? nil : .miss).append(to: &fields)
    }
}
