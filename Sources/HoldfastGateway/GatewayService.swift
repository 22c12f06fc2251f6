import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Answers requests, whatever protocol they came by: makes the cache's request of a client's, and
/// the client's answer of the cache's.
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
        await answer(Answering(inForce, client), to: sink) {
            if let prepared { return try await engine.respond(to: prepared) }
            let request = try await cacheRequest(head, inForce, from: client, content: content, sink)
            return try await engine.respond(to: request)
        }
    }

    /// The same for a request that is under way already.
    func answer(_ direct: DirectFetch, from client: GatewayClient, to sink: some ResponseSink) async {
        await answer(Answering(live.current, client), to: sink) { try await engine.respond(to: direct) }
    }

    /// The same for a response that is there already.
    func answer(_ response: CacheResponse, from client: GatewayClient, to sink: some ResponseSink) async {
        await answer(Answering(live.current, client), to: sink) { response }
    }

    private func answer(
        _ answering: Answering,
        to sink: some ResponseSink,
        _ respond: () async throws -> CacheResponse
    ) async {
        do {
            let response: CacheResponse
            do {
                response = try await respond()
            } catch let error as ExchangeError {
                let problem = error.refusedContent.map { Problem($0) } ?? Problem(error)
                return try await send(problem, answering, to: sink)
            } catch let refusal as MessageRefusal {
                return try await send(Problem(refusal), answering, to: sink)
            } catch let problem as Refused {
                return try await send(problem.problem, answering, to: sink)
            } catch is AsksGateway {
                return try await sendOptions(answering, to: sink)
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

    /// A request without content, ready for the cache; `nil` where it is refused, or the settings
    /// change in this moment: ``answer(_:from:content:prepared:to:)`` says why.
    ///
    /// - Parameter known: what was made of the last request with the same fields; what is made of
    ///   this one takes its place.
    func prepare(
        _ head: RequestHead,
        from client: GatewayClient,
        _ sink: some ResponseSink,
        like known: inout KnownRequest?
    ) -> PreparedRequest? {
        // Before the configuration, so that nothing that was made under an earlier one passes for
        // the present one's.
        let version = engine.settingsVersion
        guard !head.hasContent, let request = try? cacheRequest(head, live.current, from: client, sink, like: &known),
            let prepared = engine.prepare(request), prepared.settingsVersion == version
        else { return nil }
        return prepared
    }

    /// The answer to a GET or HEAD where memory holds it, or the lookup that would bring one;
    /// everything else is ``answer(_:from:content:prepared:to:)``'s.
    ///
    /// It waits for nobody: an event loop may call it.
    func residentResponse(_ prepared: PreparedRequest, for client: GatewayClient) -> ResidentAnswering {
        guard prepared.method == .get || prepared.method == .head else { return .none }
        switch engine.residentSearch(for: prepared) {
        case .hit(let hit): return .answer(residentResponse(hit, for: client))
        case .unknown(let lookup): return .unknown(lookup)
        case .nothing(let start): return .nothing(start)
        case .none: return .none
        }
    }

    /// The answer to a GET or HEAD with what was looked up for it; `nil` as with
    /// ``residentResponse(_:for:)``.
    func storedAnswer(
        _ prepared: PreparedRequest,
        _ found: FoundResponses,
        for client: GatewayClient
    ) -> ResidentResponse? {
        engine.storedHit(for: prepared, found).map { residentResponse($0, for: client) }
    }

    private func residentResponse(_ hit: ResidentHit, for client: GatewayClient) -> ResidentResponse {
        ResidentResponse(hit: hit, head: finished(hit.response, Answering(live.current, client)))
    }

    /// Whether every client is answered so: what is told to one only, or chosen by its address, is
    /// not written to the next.
    func answersAll(with hit: ResidentHit) -> Bool {
        guard !configuration.hidesCacheStatusDetails else { return false }
        guard let fields = hit.response.stored?.head.fields, fields.contains(.vary) else { return true }
        return !fields[values: .vary].contains { $0.lowercased().contains("forwarded") }
    }

    enum ResidentAnswering {
        case answer(ResidentResponse)
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
    /// Why the client's content could not be forwarded, where that is what the exchange failed for.
    fileprivate var refusedContent: MessageRefusal? {
        if let refusal = cause as? MessageRefusal { return refusal }
        // What an origin sends is refused too, as `protocolViolation`: that is not the client's
        // fault.
        guard let error = cause as? TransportError, error.code == .cancelled else { return nil }
        return error.cause as? MessageRefusal
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
}
