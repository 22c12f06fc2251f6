import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Serves requests, whatever protocol they came by. It turns a client's request into one for the
/// cache, and the cache's response into one for the client.
final class GatewayService: Sendable {
    let live: LiveConfiguration
    let engine: CacheEngine
    let clock: any WallClock
    let logger: Logger

    init(
        configuration: GatewayConfiguration,
        engine: CacheEngine,
        instance: UInt32,
        clock: any WallClock,
        logger: Logger
    ) {
        self.live = LiveConfiguration(configuration, instance: instance)
        self.engine = engine
        self.clock = clock
        self.logger = logger
    }

    /// The current configuration. A request reads it once.
    var configuration: GatewayConfiguration { live.current.configuration }

    /// See ``LiveConfiguration/change(to:)``.
    func reconfigure(_ configuration: GatewayConfiguration) {
        live.change(to: configuration)
        engine.settingsChanged()
    }

    /// Serves one request. It returns when the response is written, or the client has gone.
    ///
    /// - Parameters:
    ///   - content: the content as the connection reads it.
    ///   - prepared: the result of ``prepare(_:from:_:like:)`` for this request; `nil` if it was
    ///     not called or returned `nil`.
    func serve(
        _ head: RequestHead,
        from client: GatewayClient,
        content: BodyStream?,
        prepared: PreparedRequest? = nil,
        to sink: some ResponseSink
    ) async {
        let inForce = live.current
        await respond(ResponseContext(inForce, client), to: sink) {
            if let prepared { return try await engine.respond(to: prepared) }
            let request = try await cacheRequest(head, inForce, from: client, content: content, sink)
            return try await engine.respond(to: request)
        }
    }

    /// Waits for a fetch that was begun already, and sends its response.
    func finishFetch(_ direct: DirectFetch, for client: GatewayClient, to sink: some ResponseSink) async {
        await respond(ResponseContext(live.current, client), to: sink) { try await engine.respond(to: direct) }
    }

    /// Sends a response that exists already.
    func sendResponse(_ response: CacheResponse, for client: GatewayClient, to sink: some ResponseSink) async {
        await respond(ResponseContext(live.current, client), to: sink) { response }
    }

    private func respond(
        _ context: ResponseContext,
        to sink: some ResponseSink,
        with produce: () async throws -> CacheResponse
    ) async {
        do {
            let response: CacheResponse
            do {
                response = try await produce()
            } catch let error as ExchangeError {
                let problem = error.refusedContent.map { Problem($0) } ?? Problem(error)
                return try await send(problem, context, to: sink)
            } catch let refusal as MessageRefusal {
                return try await send(Problem(refusal), context, to: sink)
            } catch let rejection as Rejection {
                return try await send(rejection.problem, context, to: sink)
            } catch is OptionsForGateway {
                return try await sendOptions(context, to: sink)
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                logger.error("Exchange failed unexpectedly", metadata: ["error": "\(error)"])
                return try await send(.unexpected, context, to: sink)
            }
            try await send(response, context, to: sink)
        } catch {
            // The client has gone, or the content broke off. In both cases the response must not
            // look complete.
            await sink.abort()
        }
    }

    /// Prepares a request without content for the cache. Returns `nil` if the request is rejected,
    /// or if the settings change at this moment: ``serve(_:from:content:prepared:to:)`` then sends
    /// the response.
    ///
    /// - Parameter known: the result for the last request with the same fields. This request's
    ///   result replaces it.
    func prepare(
        _ head: RequestHead,
        from client: GatewayClient,
        _ sink: some ResponseSink,
        like known: inout KnownRequest?
    ) -> PreparedRequest? {
        // The version is read before the configuration. So a request that was prepared under an
        // earlier configuration never passes for one of the current configuration.
        let version = engine.settingsVersion
        guard !head.hasContent, let request = try? cacheRequest(head, live.current, from: client, sink, like: &known),
            let prepared = engine.prepare(request), prepared.settingsVersion == version
        else { return nil }
        return prepared
    }

    /// The response to a GET or HEAD from memory, or the lookup that may find one. All other
    /// requests are served by ``serve(_:from:content:prepared:to:)``.
    ///
    /// It never blocks, so an event loop may call it.
    func residentResponse(_ prepared: PreparedRequest, for client: GatewayClient) -> ResidentResult {
        guard prepared.method == .get || prepared.method == .head else { return .none }
        switch engine.residentSearch(for: prepared) {
        case .hit(let hit): return .response(makeResident(hit, for: client))
        case .unknown(let lookup): return .unknown(lookup)
        case .nothing(let start): return .nothing(start)
        case .none: return .none
        }
    }

    /// The response to a GET or HEAD from the stored responses that a lookup found; `nil` as in
    /// ``residentResponse(_:for:)``.
    func storedResponse(
        _ prepared: PreparedRequest,
        _ found: FoundResponses,
        for client: GatewayClient
    ) -> ResidentResponse? {
        engine.storedHit(for: prepared, found).map { makeResident($0, for: client) }
    }

    private func makeResident(_ hit: ResidentHit, for client: GatewayClient) -> ResidentResponse {
        ResidentResponse(hit: hit, head: responseHead(hit.response, ResponseContext(live.current, client)))
    }

    /// Whether every client gets this response. If clients see different details, or the response
    /// varies by the client's address, the bytes must not be reused.
    func suitsEveryClient(_ hit: ResidentHit) -> Bool {
        guard !configuration.hidesCacheStatusDetails else { return false }
        guard let fields = hit.response.stored?.head.fields, fields.contains(.vary) else { return true }
        return !fields[values: .vary].contains { $0.lowercased().contains("forwarded") }
    }

    enum ResidentResult {
        case response(ResidentResponse)
        case unknown(StoredLookup)
        case nothing(LookupStart)
        case none
    }

    struct ResidentResponse {
        let hit: ResidentHit
        let head: GatewayResponseHead
    }
}

extension ExchangeError {
    /// Why the client's content was rejected, if the exchange failed for that reason.
    fileprivate var refusedContent: MessageRefusal? {
        if let refusal = cause as? MessageRefusal { return refusal }
        // An origin's malformed response is a `MessageRefusal` too, with the code
        // `protocolViolation`. That is not the client's fault.
        guard let error = cause as? TransportError, error.code == .cancelled else { return nil }
        return error.cause as? MessageRefusal
    }
}

extension Problem {
    fileprivate static let unexpected = Problem(
        code: "internal",
        title: "The gateway failed",
        status: 500,
        detail: "The exchange failed unexpectedly. The gateway's log has the error.",
        outcome: CacheOutcome()
    )
}
