import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Answers requests, whatever protocol they came by: makes the cache's request of a client's, and the client's answer of the cache's.
struct GatewayService: Sendable {
    let configuration: GatewayConfiguration
    let engine: CacheEngine
    let clock: any WallClock
    let logger: Logger

    /// Answers one request. It returns when the answer is written, or the client has gone.
    ///
    /// - Parameters:
    ///   - client: its IP address.
    ///   - content: as it comes off the connection.
    ///   - prepared: what ``prepare(_:from:_:)`` made of it.
    func answer(
        _ head: RequestHead,
        from client: String?,
        content: BodyStream?,
        prepared: PreparedRequest? = nil,
        to sink: some ResponseSink
    ) async {
        do {
            let response: CacheResponse
            do {
                if let prepared {
                    response = try await engine.respond(to: prepared)
                } else {
                    let request = try await cacheRequest(head, from: client, content: content, sink)
                    response = try await engine.respond(to: request)
                }
            } catch let error as ExchangeError {
                let problem = error.refusedContent.map { Problem($0) } ?? Problem(error)
                return try await send(problem, to: sink)
            } catch let refusal as MessageRefusal {
                return try await send(Problem(refusal), to: sink)
            } catch let problem as Refused {
                return try await send(problem.problem, to: sink)
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                logger.error("Exchange failed unexpectedly", metadata: ["error": "\(error)"])
                return try await send(.unexpected, to: sink)
            }
            try await send(response, to: sink)
        } catch {
            // The client has gone, or the content broke off: either way it must not look whole.
            await sink.abort()
        }
    }

    /// A request without content, ready for the cache; `nil` where it is refused: ``answer(_:from:content:prepared:to:)`` says why.
    func prepare(_ head: RequestHead, from client: String?, _ sink: some ResponseSink) -> PreparedRequest? {
        guard !head.hasContent, let request = try? cacheRequest(head, from: client, sink) else { return nil }
        return engine.prepare(request)
    }

    /// The answer to a GET or HEAD where memory holds it; `nil` for everything else, which is ``answer(_:from:content:prepared:to:)``'s.
    ///
    /// It waits for nobody: an event loop may call it.
    func residentAnswer(_ prepared: PreparedRequest) -> (hit: ResidentHit, head: HTTPResponse, length: Int64?)? {
        let method = prepared.request.head.method
        guard method == .get || method == .head, let hit = engine.residentHit(for: prepared) else { return nil }
        let (head, length) = finished(hit.response)
        return (hit, head, length)
    }

    // MARK: The request

    private struct Refused: Error {
        var problem: Problem
    }

    private func cacheRequest(
        _ head: RequestHead,
        from client: String?,
        content: BodyStream?,
        _ sink: some ResponseSink
    ) async throws -> CacheRequest {
        var request = try cacheRequest(head, from: client, sink)
        request.body = try await body(of: request.head, content, sink)
        return request
    }

    /// The request without its content.
    private func cacheRequest(_ head: RequestHead, from client: String?, _ sink: some ResponseSink) throws
        -> CacheRequest
    {
        guard head.target != "*" else { throw Refused(problem: .asterisk) }
        let fields = try forwardedFields(head)
        guard let choice = configuration.routes.choose(authority: head.authority, target: head.target) else {
            throw Refused(problem: .noRoute(head.authority))
        }
        let isPreserving = choice.route.preservesHost && head.authority != nil
        let origin = choice.route.origin
        var request = CacheRequest(
            head: HTTPRequest(
                method: head.method,
                scheme: origin.scheme,
                authority: isPreserving ? head.authority : origin.authority,
                path: choice.path,
                headerFields: fields
            )
        )
        if configuration.routes.areAmbiguous, let target = TargetURI(request: request.head),
            configuration.routes.endpoint(for: target) != choice.route.endpoint
        {
            throw Refused(problem: .misdirected(head.authority))
        }
        request.head.headerFields.append(
            HTTPField(name: .viaGateway, value: "1.\(head.minorVersion) \(configuration.pseudonym)")
        )
        request.head.headerFields.append(HTTPField(name: .xForwardedProto, value: "http"))
        if let client {
            request.head.headerFields.append(HTTPField(name: .xForwardedFor, value: client))
            let node = client.contains(":") ? "\"[\(client)]\"" : client
            request.head.headerFields.append(HTTPField(name: .forwarded, value: "for=\(node);proto=http"))
        }
        // A host that is not in the key must not be in the response either, as a link say: it is only told where it is keyed.
        if isPreserving, let authority = head.authority {
            request.head.headerFields.append(HTTPField(name: .xForwardedHost, value: authority))
        }
        request.executor = sink.executor
        request.onInformational = { interim in
            sink.inform(
                HTTPResponse(status: interim.status, headerFields: ForwardedFields.ofResponse(interim.headerFields))
            )
        }
        return request
    }

    /// The fields that pass; `Max-Forwards` counts down. RFC 9110 §7.6.2
    private func forwardedFields(_ head: RequestHead) throws -> HTTPFields {
        var fields = ForwardedFields.ofRequest(head.fields)
        guard ["OPTIONS", "TRACE"].contains(head.method.rawValue), let text = fields[.maxForwards],
            text.utf8.allSatisfy(\.isDigit), let count = Int(text)
        else { return fields }
        guard count > 0 else { throw Refused(problem: .lastForward) }
        fields[.maxForwards] = String(count - 1)
        return fields
    }

    private func body(
        of request: HTTPRequest,
        _ content: BodyStream?,
        _ sink: some ResponseSink
    ) async throws -> RequestBody? {
        guard let content else { return nil }
        switch request.method.rawValue {
        case "GET", "HEAD", "TRACE":
            // RFC 9110 §9.3.1 gives it no meaning: an origin that reads it would answer for a key that does not tell.
            sink.discardContent()
            return nil
        case "QUERY":
            return try await content.keyed(upTo: configuration.keyedContentLimit)
        default:
            if content.length == 0 { return .buffer(ByteBuffer()) }
            // A rule may want it in the key; else it passes as it comes.
            guard engine.mayKeyContent(of: request) else { return .stream(content) }
            return try await content.keyed(upTo: configuration.keyedContentLimit)
        }
    }

    // MARK: The answer

    private func send(_ response: CacheResponse, to sink: some ResponseSink) async throws {
        let (head, length) = finished(response)
        try await sink.start(head, length: length)
        for try await chunk in response.body { try await sink.write(chunk) }
        try await sink.finish()
    }

    /// The head as clients get it, and the content's length where it is known.
    private func finished(_ response: CacheResponse) -> (head: HTTPResponse, length: Int64?) {
        var head = response.head
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        complete(&head.headerFields, response.outcome)
        return (head, response.body.length ?? head.headerFields[.contentLength].flatMap { Int64($0) })
    }

    private func send(_ problem: Problem, to sink: some ResponseSink) async throws {
        let (head, body) = message(problem)
        sink.discardContent()
        try await sink.start(head, length: Int64(body.readableBytes))
        try await sink.write(body)
        try await sink.finish()
    }

    /// The answer to octets that are no request.
    func problem(for refusal: MessageRefusal) -> (head: HTTPResponse, body: ByteBuffer) {
        message(Problem(refusal))
    }

    func message(_ problem: Problem) -> (head: HTTPResponse, body: ByteBuffer) {
        let body = problem.json
        var head = HTTPResponse(status: HTTPResponse.Status(code: problem.status))
        head.headerFields[.contentType] = "application/problem+json"
        // For the answer to HEAD, which says how long the one to GET would be.
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.cacheControl] = "no-store"
        complete(&head.headerFields, problem.outcome)
        return (head, body)
    }

    /// Adds what every answer has: the gateway's `Cache-Status` behind those of caches nearer the origin (RFC 9211 §2), `Via`, and
    /// `Date` (RFC 9110 §6.6.1).
    private func complete(_ fields: inout HTTPFields, _ outcome: CacheOutcome) {
        if !fields.contains(.date) { fields.append(HTTPField(name: .date, value: HTTPDate.format(clock.now()))) }
        fields.append(HTTPField(name: .viaGateway, value: "1.1 \(configuration.pseudonym)"))
        fields = outcome.appended(to: fields)
    }
}

extension Problem {
    fileprivate static let unexpected = Problem(
        code: "internal",
        title: "The gateway failed",
        status: 500,
        detail: "The exchange ended in a way it should not. The gateway's log has more.",
        outcome: CacheOutcome()
    )

    fileprivate static let lastForward = Problem(
        code: "last-forward",
        title: "The request may not be forwarded",
        status: 501,
        detail: "'Max-Forwards: 0' asks this gateway itself, which describes no resources of its own.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("refused"))
    )

    /// - Parameter host: as the client names it.
    fileprivate static func noRoute(_ host: String?) -> Problem {
        Problem(
            code: "no-route",
            title: "No route leads there",
            status: 404,
            detail:
                "No route of this gateway takes this path \(host.map { "on '\($0)'" } ?? "without a host"). Nothing was forwarded.",
            outcome: CacheOutcome(detail: CacheOutcome.Detail("no-route"))
        )
    }

    /// - Parameter host: as the client names it.
    fileprivate static func misdirected(_ host: String?) -> Problem {
        Problem(
            code: "misdirected",
            title: "The request is one of another route's",
            status: 421,
            detail:
                "With its host\(host.map { " '\($0)'" } ?? "") preserved, this request cannot be told from one to another origin. "
                + "Nothing was forwarded.",
            outcome: CacheOutcome(detail: CacheOutcome.Detail("misdirected"))
        )
    }

    fileprivate static let asterisk = Problem(
        code: "asterisk",
        title: "The target is the server itself",
        status: 400,
        detail: "'OPTIONS *' asks this gateway and no resource of the origin's. Ask for a path.",
        outcome: CacheOutcome(detail: CacheOutcome.Detail("refused"))
    )
}

extension ExchangeError {
    /// Why the client's content could not be forwarded, where that is what the exchange failed for.
    fileprivate var refusedContent: MessageRefusal? {
        if let refusal = cause as? MessageRefusal { return refusal }
        // What an origin sends is refused too, as `protocolViolation`: that is not the client's fault.
        guard let error = cause as? TransportError, error.code == .cancelled else { return nil }
        return error.cause as? MessageRefusal
    }
}

extension BodyStream {
    /// The content in memory, so that it can be part of the key; what is longer is passed on as it comes.
    fileprivate func keyed(upTo limit: Int) async throws -> RequestBody {
        if let length, length > Int64(limit) { return .stream(self) }
        let rest = Rest(makeAsyncIterator())
        var start = ByteBuffer()
        while let chunk = try await rest.next() {
            start.writeImmutableBuffer(chunk)
            if start.readableBytes > limit {
                let read = start
                return .stream(
                    BodyStream {
                        var read: ByteBuffer? = read
                        return {
                            if let chunk = read.take() { return chunk }
                            return try await rest.next()
                        }
                    }
                )
            }
        }
        return .buffer(start)
    }
}

/// An iterator that outlives the function that began it.
///
/// `@unchecked`: a stream of a connection is read by one task at a time: first by the one that buffers, then by the one that sends, which
/// begins when the first has returned.
private final class Rest: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator

    init(_ iterator: BodyStream.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> ByteBuffer? {
        try await iterator.next()
    }
}
