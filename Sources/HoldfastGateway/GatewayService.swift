import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Answers requests, whatever protocol they came by: makes the cache's request of a client's, and the client's answer of the cache's.
struct GatewayService: Sendable {
    private let live: LiveConfiguration
    let engine: CacheEngine
    let clock: any WallClock
    let logger: Logger

    init(configuration: GatewayConfiguration, engine: CacheEngine, clock: any WallClock, logger: Logger) {
        self.live = LiveConfiguration(configuration)
        self.engine = engine
        self.clock = clock
        self.logger = logger
    }

    /// What counts now; a request takes it once.
    var configuration: GatewayConfiguration { live.current.configuration }

    /// See ``LiveConfiguration/change(to:)``.
    func reconfigure(_ configuration: GatewayConfiguration) {
        live.change(to: configuration)
        engine.settingsChanged()
    }

    /// Answers one request. It returns when the answer is written, or the client has gone.
    ///
    /// - Parameters:
    ///   - content: as it comes off the connection.
    ///   - prepared: what ``prepare(_:from:_:)`` made of it.
    func answer(
        _ head: RequestHead,
        from client: GatewayClient,
        content: BodyStream?,
        prepared: PreparedRequest? = nil,
        to sink: some ResponseSink
    ) async {
        let inForce = live.current
        let answering = Answering(inForce, client)
        do {
            let response: CacheResponse
            do {
                if let prepared {
                    response = try await engine.respond(to: prepared)
                } else {
                    let request = try await cacheRequest(head, inForce, from: client, content: content, sink)
                    response = try await engine.respond(to: request)
                }
            } catch let error as ExchangeError {
                let problem = error.refusedContent.map { Problem($0) } ?? Problem(error)
                return try await send(problem, answering, to: sink)
            } catch let refusal as MessageRefusal {
                return try await send(Problem(refusal), answering, to: sink)
            } catch let problem as Refused {
                return try await send(problem.problem, answering, to: sink)
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                logger.error("Exchange failed unexpectedly", metadata: ["error": "\(error)"])
                return try await send(.unexpected, answering, to: sink)
            }
            try await send(response, answering, to: sink)
        } catch {
            // The client has gone, or the content broke off: either way it must not look whole.
            await sink.abort()
        }
    }

    /// A request without content, ready for the cache; `nil` where it is refused, or the settings change in this moment: ``answer(_:from:content:prepared:to:)`` says why.
    func prepare(_ head: RequestHead, from client: GatewayClient, _ sink: some ResponseSink) -> PreparedRequest? {
        // Before the configuration, so that nothing that was made under an earlier one passes for the present one's.
        let version = engine.settingsVersion
        guard !head.hasContent, let request = try? cacheRequest(head, live.current, from: client, sink),
            let prepared = engine.prepare(request), prepared.settingsVersion == version
        else { return nil }
        return prepared
    }

    /// The answer to a GET or HEAD where memory holds it, or the lookup that would bring one; everything else is ``answer(_:from:content:prepared:to:)``'s.
    ///
    /// It waits for nobody: an event loop may call it.
    func residentAnswer(_ prepared: PreparedRequest, for client: GatewayClient) -> ResidentAnswering {
        let method = prepared.request.head.method
        guard method == .get || method == .head else { return .none }
        switch engine.residentSearch(for: prepared) {
        case .hit(let hit): return .answer(residentAnswer(hit, for: client))
        case .unknown(let lookup): return .unknown(lookup)
        case .none: return .none
        }
    }

    /// The answer to a GET or HEAD with what was looked up for it; `nil` as with ``residentAnswer(_:for:)``.
    func storedAnswer(
        _ prepared: PreparedRequest,
        _ found: StoredLookup.Found,
        for client: GatewayClient
    ) -> ResidentAnswer? {
        engine.storedHit(for: prepared, found).map { residentAnswer($0, for: client) }
    }

    private func residentAnswer(_ hit: ResidentHit, for client: GatewayClient) -> ResidentAnswer {
        let inForce = live.current
        let (head, length) = finished(hit.response, Answering(inForce, client))
        // What is told to one client only, or chosen by its address, is not written to the next.
        let isSelected =
            hit.response.stored.map { stored in
                stored.head.fields.contains(.vary)
                    && stored.head.fields[values: .vary].contains { $0.lowercased().contains("forwarded") }
            } ?? false
        let isForAll = !inForce.configuration.hidesCacheStatusDetails && !isSelected
        return ResidentAnswer(hit: hit, head: head, length: length, isForAll: isForAll)
    }

    enum ResidentAnswering {
        case answer(ResidentAnswer)
        case unknown(StoredLookup)
        case none
    }

    struct ResidentAnswer {
        let hit: ResidentHit
        let head: HTTPResponse
        let length: Int64?
        /// Whether every client is answered so.
        let isForAll: Bool
    }

    // MARK: The request

    private struct Refused: Error {
        var problem: Problem
    }

    private func cacheRequest(
        _ head: RequestHead,
        _ inForce: ConfigurationInForce,
        from client: GatewayClient,
        content: BodyStream?,
        _ sink: some ResponseSink
    ) async throws -> CacheRequest {
        var request = try cacheRequest(head, inForce, from: client, sink)
        request.body = try await body(of: request.head, content, inForce.configuration, sink)
        return request
    }

    /// The request without its content.
    private func cacheRequest(
        _ head: RequestHead,
        _ inForce: ConfigurationInForce,
        from client: GatewayClient,
        _ sink: some ResponseSink
    ) throws -> CacheRequest {
        guard head.target != "*" else { throw Refused(problem: .asterisk) }
        let fields = try forwardedFields(head)
        guard let choice = inForce.configuration.routes.choose(authority: head.authority, target: head.target) else {
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
        if inForce.configuration.routes.areAmbiguous, let target = TargetURI(request: request.head),
            inForce.configuration.routes.endpoint(for: target) != choice.route.endpoint
        {
            throw Refused(problem: .misdirected(head.authority))
        }
        request.head.headerFields.append(inForce.via(minorVersion: head.minorVersion))
        ForwardedFields.appendClient(
            client,
            to: &request.head.headerFields,
            behind: inForce.configuration.isTrusted(client.address) ? head.fields : [:]
        )
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
        guard head.method == .options || head.method == .trace, let text = fields[.maxForwards],
            text.utf8.allSatisfy(\.isDigit), let count = Int(text)
        else { return fields }
        guard count > 0 else { throw Refused(problem: .lastForward) }
        fields[.maxForwards] = String(count - 1)
        return fields
    }

    private func body(
        of request: HTTPRequest,
        _ content: BodyStream?,
        _ configuration: GatewayConfiguration,
        _ sink: some ResponseSink
    ) async throws -> RequestBody? {
        guard let content else { return nil }
        switch request.method.rawValue {
        case "GET", "HEAD", "TRACE":
            // RFC 9110 §9.3.1 gives it no meaning: an origin that reads it would answer for a key that does not tell.
            sink.discardContent()
            return nil
        case "QUERY":
            return try await content.limited(to: configuration.contentLimit).keyed(
                upTo: configuration.keyedContentLimit
            )
        default:
            if content.length == 0 { return .buffer(ByteBuffer()) }
            let content = try content.limited(to: configuration.contentLimit)
            // A rule may want it in the key; else it passes as it comes.
            guard engine.mayKeyContent(of: request) else { return .stream(content) }
            return try await content.keyed(upTo: configuration.keyedContentLimit)
        }
    }

    // MARK: The answer

    /// What an answer's head depends on beside the answer.
    private struct Answering {
        let inForce: ConfigurationInForce
        /// Whether the client is to know why it gets what it gets.
        let showsDetails: Bool

        init(_ inForce: ConfigurationInForce, _ client: GatewayClient?) {
            self.inForce = inForce
            showsDetails =
                !inForce.configuration.hidesCacheStatusDetails || inForce.configuration.isTrusted(client?.address)
        }
    }

    private func send(_ response: CacheResponse, _ answering: Answering, to sink: some ResponseSink) async throws {
        let (head, length) = finished(response, answering)
        if let whole = response.body.whole { return try await sink.answer(head, whole) }
        try await sink.start(head, length: length)
        for try await chunk in response.body { try await sink.write(chunk) }
        try await sink.finish()
    }

    /// The head as clients get it, and the content's length where it is known.
    private func finished(_ response: CacheResponse, _ answering: Answering) -> (head: HTTPResponse, length: Int64?) {
        var head = response.head
        head.headerFields = ForwardedFields.ofResponse(head.headerFields)
        complete(&head.headerFields, response.outcome, answering)
        return (head, response.body.length ?? head.headerFields[.contentLength].flatMap { Int64($0) })
    }

    private func send(_ problem: Problem, _ answering: Answering, to sink: some ResponseSink) async throws {
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
        guard !answering.showsDetails else { return fields = outcome.appended(to: fields) }
        // What other caches say of themselves is no more for everybody than what this one would.
        fields[.cacheStatus] = nil
        fields = CacheOutcome(isHit: outcome.isHit, forward: outcome.isHit ? nil : .miss).appended(to: fields)
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
    /// The content, which breaks off where it turns out longer.
    ///
    /// - Throws: ``MessageRefusal`` (413) where it says that it is.
    fileprivate func limited(to limit: Int64) throws -> BodyStream {
        if let length {
            guard length <= limit else { throw MessageRefusal(.contentTooLarge, status: 413) }
            return self
        }
        return BodyStream {
            let rest = Rest(self.makeAsyncIterator())
            var count: Int64 = 0
            return {
                let chunk = try await rest.next()
                count += Int64(chunk?.readableBytes ?? 0)
                guard count <= limit else { throw MessageRefusal(.contentTooLarge, status: 413) }
                return chunk
            }
        }
    }

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
