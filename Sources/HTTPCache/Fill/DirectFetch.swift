import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// A fetch that one caller leads on an event loop, by callbacks: what is passed through needs no
/// task, and tasks cost as much as all the rest of it.
///
/// It is a ``Fill`` like any other, which others join. What takes longer than the moment in which
/// the origin's head comes (storing it, standing in for it) is done by tasks that take over from
/// there: ``Outcome/goesOn``.
package final class DirectFetch: Sendable {
    package enum Outcome: Sendable {
        /// The answer.
        case answered(CacheResponse)
        /// The same, as it came; where ``CacheEngine/fetchDirectly(_:since:mayRelay:inTurn:_:)``
        /// was told that it may.
        case relayed(any RelayedResponse)
        /// ``CacheEngine/respond(to:)`` has the answer when there is one; it is to be asked once.
        case goesOn(DirectFetch)
    }

    /// Does something on the loop, in its turn.
    package typealias InTurn = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let engine: CacheEngine
    let prepared: PreparedRequest
    private let key: CacheKey
    private let now: Timestamp
    private let fill: Fill
    private let origin: Origin
    private let completion: @Sendable (Outcome) -> Void
    /// Its caller has its answer, waits for it in a task, or has gone.
    private let isOver = Atomic(false)

    fileprivate init(
        _ engine: CacheEngine,
        _ prepared: PreparedRequest,
        _ key: CacheKey,
        _ now: Timestamp,
        _ fill: Fill,
        _ origin: Origin,
        _ completion: @escaping @Sendable (Outcome) -> Void
    ) {
        self.engine = engine
        self.prepared = prepared
        self.key = key
        self.now = now
        self.fill = fill
        self.origin = origin
        self.completion = completion
    }

    fileprivate func begin(by transport: any CallbackTransport, mayRelay: Bool, _ inTurn: @escaping InTurn) {
        var sending = fill.sending(prepared.sending(), for: prepared.request)
        sending.headTimeout = prepared.hardTimeout(engine.options)
        sending.mayBeRelayed = mayRelay && prepared.rules == nil && prepared.policy.obeysCacheControlAlone
        let call = transport.begin(sending) { result in inTurn { self.received(result) } }
        guard let call else { return goOn(from: .entered) }
        fill.isCarried(by: call)
    }

    private func received(_ result: Result<CallbackResponse, any Error>) {
        switch result {
        case .success(.relayed(let response)):
            let status = HTTPResponse.Status(code: response.status)
            answered(status)
            guard endUnstored(status) else { return }
            engine.recordRelayed(status)
            completion(.relayed(response))
        case .success(.response(let response)):
            let responseTime = answered(response.head.status)
            let context = FillContext(prepared, key: key, requestTime: now, options: engine.options)
            let decision = context.decide(response, at: responseTime)
            if case .passThrough(let refusal) = decision { return passThrough(response, responseTime, refusal) }
            goOn(
                from: .answered(
                    Fetcher.Answer(
                        response: response,
                        responseTime: responseTime,
                        context: context,
                        decision: decision
                    )
                )
            )
        case .failure(let error):
            let error = prepared.request.secrets?.redacted(error, of: prepared.sending().head) ?? error
            if !fill.isCancelled || error.isSilence {
                engine.note(error, of: origin, for: prepared, isProbed: prepared.request.isReplayable)
            }
            goOn(from: .failed(error))
        }
    }

    /// The origin has answered.
    ///
    /// - Returns: when.
    @discardableResult
    private func answered(_ status: HTTPResponse.Status) -> Timestamp {
        engine.noteResponse(of: origin, to: prepared)
        let responseTime = engine.clock.now()
        engine.throttle.note(status, key, at: responseTime)
        return responseTime
    }

    /// Ends the fetch of what is not stored.
    ///
    /// - Returns: whether its caller is still there for it.
    private func endUnstored(_ status: HTTPResponse.Status) -> Bool {
        engine.fills.end(fill, key, changedNothing: true)
        engine.origins.leave(origin, prepared.request.client)
        return fill.release(status) && !isOver.exchange(true, ordering: .relaxed)
    }

    private func passThrough(
        _ response: TransportResponse,
        _ responseTime: Timestamp,
        _ refusal: StorageRefusal
    ) {
        guard endUnstored(response.head.status) else { return }
        let head = StoredResponseHead(
            status: response.head.status,
            fields: response.head.headerFields,
            requestTime: now,
            responseTime: responseTime
        )
        var answer = CacheResponse(
            head: response.head,
            body: response.body,
            source: .network,
            age: prepared.policy.currentAge(of: head, at: max(now, responseTime)).milliseconds,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: CacheOutcome(forward: .uriMiss, notStored: refusal)
        )
        prepared.rules?.edit(&answer)
        engine.record(answer, to: prepared.presented)
        completion(.answered(answer))
    }

    /// Leaves the rest to tasks: one for the fetch, and one of the caller's, where that is still
    /// there.
    private func goOn(from beginning: Fetcher.Beginning) {
        let fetcher = fetcher(exchange())
        fill.start(on: prepared.request.place.executor) { await fetcher.run($0, from: beginning) }
        if !isOver.exchange(true, ordering: .relaxed) { completion(.goesOn(self)) }
    }

    private func exchange() -> Exchange {
        Exchange(engine: engine, prepared: prepared, key: key, now: now)
    }

    private func fetcher(_ exchange: Exchange) -> Fetcher {
        Fetcher(
            engine: engine,
            prepared: prepared,
            key: key,
            fetch: exchange.machine.fetchOfMissing,
            fence: fill.fence,
            storedSuccess: nil
        )
    }

    /// See ``CacheEngine/respond(to:)``.
    func answer() async throws -> CacheResponse {
        let exchange = exchange()
        var response = try await exchange.answer(of: fill, fetcher(exchange), isCollapsed: false)
        prepared.rules?.edit(&response)
        return response
    }

    /// The caller goes without an answer. Does nothing once it has one, or was told that it is to
    /// wait for it.
    package func abandon() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        leave()
        engine.record(CancellationError(), of: prepared.presented)
    }

    /// Its caller does not ask for the answer.
    func leave() { fill.leave(isLeader: true) }
}

extension CacheEngine {
    /// Sends a request for which nothing is stored to its origin, from the calling event loop.
    ///
    /// - Parameters:
    ///   - prepared: its ``CacheRequest/onInformational`` is called as long as the caller waits for
    ///     the final response.
    ///   - start: before the lookup that found nothing.
    ///   - mayRelay: whether an answer that nobody may store may be handed over as it came.
    ///   - inTurn: does what is to be done with the answer, so that what the loop has to do for
    ///     others is not kept waiting by many of them.
    ///   - completion: called once on this loop, unless the fetch is abandoned before; maybe before
    ///     this returns.
    /// - Returns: `nil` where there is more to it than that. Then nothing has been done:
    ///   ``respond(to:)`` is to be asked.
    package func fetchDirectly(
        _ prepared: PreparedRequest,
        since start: LookupStart,
        mayRelay: Bool = false,
        inTurn: @escaping DirectFetch.InTurn = { $0() },
        _ completion: @escaping @Sendable (DirectFetch.Outcome) -> Void
    ) -> DirectFetch? {
        guard let callbackTransport, mayAnswerAtOnce(prepared), let key = prepared.key, !isTraced,
            prepared.method == .get, prepared.request.isCollapsible, !prepared.request.isProbe
        else { return nil }
        let origin = Origin(prepared.target)
        let client = prepared.request.client
        guard !prepared.mayOnlyUseStored(mode: prepared.mode),
            origins.enterIfReachable(origin, client, { prepared.asked }, at: { clock.now() })
        else { return nil }
        let rules = prepared.rulesIdentity
        guard let fill = fills.leadAtOnce(key, seen: start.endedFills, fence: start.fence, rules: rules) else {
            origins.leave(origin, client)
            return nil
        }
        let direct = DirectFetch(self, prepared, key, clock.now(), fill, origin, completion)
        direct.begin(by: callbackTransport, mayRelay: mayRelay, inTurn)
        return direct
    }
}
