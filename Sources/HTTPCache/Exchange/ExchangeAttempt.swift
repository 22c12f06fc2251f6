package import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization

/// Drives one exchange on an event loop, with calls and callbacks. It performs the decisions of
/// ``ExchangeFlow`` until an exchange needs a task.
///
/// A task would double the cost of a forwarded response, so hits and forwarded responses do not use
/// one. An exchange that needs a task continues in one where this driver stopped:
/// ``CacheEngine/respond(to:)-(ExchangeAttempt)``.
///
/// All other functions are called on a single event loop.
package final class ExchangeAttempt: Sendable {
    /// The caller's next step.
    package enum Step: Sendable {
        /// Send this hit. The exchange has ended.
        case serve(ImmediateHit)
        /// Memory does not have the answer. Perform this lookup, at once or on a thread that may
        /// wait for a disk, then call ``proceed(with:)``.
        case lookUp(StoredLookup)
        /// Nothing is stored. Call ``fetch(mayRelay:inTurn:_:)``.
        case fetch
        /// Continue in a task.
        case continueInTask
    }

    /// The result of a fetch on the loop.
    package enum Outcome: Sendable {
        case response(CacheResponse)
        /// A response with an unparsed head, if the caller of ``fetch(mayRelay:inTurn:_:)`` allowed
        /// it.
        case relayed(any RelayedResponse)
        /// Continue in a task.
        case continueInTask
    }

    /// Runs work on the loop, in its turn.
    package typealias InTurn = @Sendable (@escaping @Sendable () -> Void) -> Void
    package typealias Completion = @Sendable (Outcome) -> Void

    private struct State {
        var flow: ExchangeFlow
        var beginning = Exchange.Beginning.nothing
        var start: LookupStart?
        /// Whether the caller has its outcome, or has disconnected.
        var isOver = false
    }

    /// A fetch that this exchange leads.
    private struct Fetch {
        let fetcher: Fetcher
        let inFlight: InFlightFetch
        let requestTime: Timestamp
        let completion: Completion

        var origin: Origin { fetcher.origin }
    }

    private let engine: CacheEngine
    let prepared: PreparedRequest
    private let state: Mutex<State>

    fileprivate init(_ engine: CacheEngine, _ prepared: PreparedRequest) {
        self.engine = engine
        self.prepared = prepared
        state = Mutex(State(flow: ExchangeFlow(prepared, options: engine.options, now: engine.clock.now())))
    }

    // MARK: Lookup

    /// Looks up the request in memory.
    package func begin() -> Step {
        guard engine.mayAttempt(prepared), let key = prepared.key else { return .continueInTask }
        let start = engine.lookupStart(key, for: prepared.request)
        if let found = prepared.found({ engine.store.resident($0) }) { return decide(found, start, isResident: true) }
        // A request for part of a body needs a task, because the part is opened separately.
        guard let lookup = engine.blockingLookup, !prepared.request.head.headerFields.contains(.range) else {
            return .continueInTask
        }
        state.withLock { $0.start = start }
        return .lookUp(StoredLookup(prepared: prepared, lookup: lookup, immediateLookup: engine.immediateLookup))
    }

    /// - Parameter found: the lookup's result; `nil` if the store failed. A task then repeats the
    ///   lookup and reports the failure.
    package func proceed(with found: FoundResponses?) -> Step {
        guard engine.mayAttempt(prepared), let found, let start = state.withLock({ $0.start }) else {
            return .continueInTask
        }
        return decide(found, start, isResident: false)
    }

    private func decide(_ found: FoundResponses, _ start: LookupStart, isResident: Bool) -> Step {
        let step = state.withLock { state -> Step in
            switch engine.serveAtOnce(&state.flow, found, since: start) {
            case .served(let serve, var response, let content):
                response.forecastSubject = state.flow.forecastSubject
                let conditions =
                    isResident ? state.flow.conditions(of: serve, response, found, start.fencingNumber) : nil
                return .serve(ImmediateHit(response: response, content: content, conditions: conditions))
            case .notServed(let action):
                state.beginning = .decided(action)
                if case .ask = action, found.isNothing { return .fetch }
                return .continueInTask
            }
        }
        if case .serve(let hit) = step { engine.record(hit.response, to: prepared) }
        return step
    }

    // MARK: Fetching

    /// Sends the request to its origin.
    ///
    /// - Parameters:
    ///   - mayRelay: whether a response that no cache may store may be forwarded with an unparsed
    ///     head.
    ///   - inTurn: runs the work on the response in its turn, so that many responses do not block
    ///     the loop's other work.
    ///   - completion: called once on this loop, unless the exchange is abandoned first; possibly
    ///     before this returns. The request's ``CacheRequest/onInformational`` is called until
    ///     then.
    /// - Returns: `false` if the fetch cannot run on the loop. Nothing was done then; continue
    ///   in a task.
    package func fetch(
        mayRelay: Bool = false,
        inTurn: @escaping InTurn = { $0() },
        _ completion: @escaping Completion
    ) -> Bool {
        guard let callbacks = engine.callbacks, let key = prepared.key, engine.mayAttempt(prepared),
            !engine.isTraced, prepared.method == .get, prepared.request.isCollapsible, !prepared.request.isProbe,
            !prepared.sendsUnkeyedCookies, !engine.mayLook(prepared)
        else { return false }
        let origin = engine.origin(of: prepared.target)
        let (client, engine, prepared) = (prepared.request.client, engine, prepared)
        // No stored response can be served, so send the request only if the origin counts as
        // reachable.
        let hasEntered = engine.origins.enterIfFree(origin, client) {
            $0.verdict(for: prepared.asked, at: engine.clock.now()) == .reachable
        }
        guard hasEntered else { return false }
        let fetch = state.withLock { state -> Fetch? in
            // Use a copy, because a task starts over if this exchange cannot lead a fetch.
            var flow = state.flow
            guard case .decided(.ask) = state.beginning, let plan = flow.plan, let seen = flow.seenFetches,
                case .admit = flow.considered(recent: nil, verdict: .reachable),
                case .lead(let inFlight) = engine.inFlightFetches.admit(
                    key,
                    as: engine.isUnshared(key) ? .alone : .leading,
                    seen: seen,
                    fencingNumber: plan.known.fencingNumber,
                    rules: prepared.rulesIdentity,
                    credentials: prepared.sharedCredentials
                ), case .lead = flow.admitted(.lead(inFlight))
            else { return nil }
            state.flow = flow
            state.beginning = .waiting(inFlight)
            return Fetch(
                fetcher: Fetcher(engine: engine, origin: origin, prepared: prepared, key: key, plan: plan),
                inFlight: inFlight,
                requestTime: engine.clock.now(),
                completion: completion
            )
        }
        guard let fetch else {
            engine.origins.leave(origin, client)
            return false
        }
        send(fetch, by: callbacks, mayRelay: mayRelay, inTurn)
        return true
    }

    private func send(
        _ fetch: Fetch,
        by callbacks: TransportCallbacks,
        mayRelay: Bool,
        _ inTurn: @escaping InTurn
    ) {
        var sending = fetch.inFlight.sending(prepared.sending(), for: prepared.request)
        sending.headTimeout = prepared.hardTimeout(engine.options)
        sending.mayBeRelayed =
            mayRelay && prepared.rules == nil && !prepared.isSeenByJob && prepared.policy.obeysCacheControlAlone
        let call = callbacks.begin(prepared.editingInterims(sending)) { result in inTurn { self.receive(result, fetch) }
        }
        guard let call else { return continueInTask(fetch, from: .entered) }
        fetch.inFlight.attach(to: call)
    }

    private func receive(_ result: Result<CallbackResponse, any Error>, _ fetch: Fetch) {
        switch result {
        case .success(.relayed(let response)):
            let status = HTTPResponse.Status(code: response.status)
            engine.noteResponse(of: fetch.origin, to: prepared)
            let now = engine.clock.now()
            engine.throttle.note(status, fetch.fetcher.key, at: now)
            engine.noteUnshared(.responseNoStore, status, fetch.fetcher.key, at: now)
            guard end(fetch, status) else { return }
            engine.record(.fetched, response.status, prepared.method) { CacheOutcome.uriMiss.cacheStatus() }
            fetch.completion(.relayed(response))
        case .success(.response(let received)):
            engine.noteResponse(of: fetch.origin, to: prepared)
            let response = prepared.edited(engine.noting(received, of: fetch.origin, to: prepared))
            let judged = fetch.fetcher.judge(response, requestedAt: fetch.requestTime)
            guard case .passThrough(let refusal) = judged.decision else {
                return continueInTask(fetch, from: .judged(judged))
            }
            engine.noteUnshared(refusal, response.head.status, fetch.fetcher.key, at: judged.responseTime)
            guard end(fetch, response.head.status) else { return }
            deliver(.exclusive(response, responseTime: judged.responseTime, notStored: refusal), fetch)
        case .failure(let error):
            let error = prepared.request.secrets?.redacted(error, of: prepared.sending().head) ?? error
            if !fetch.inFlight.isCancelled || error.isSilence {
                engine.note(error, of: fetch.origin, for: prepared, isProbed: prepared.request.isReplayable)
            }
            continueInTask(fetch, from: .failed(error))
        }
    }

    /// Ends a fetch whose response is not stored.
    ///
    /// - Returns: whether the caller still waits for it.
    private func end(_ fetch: Fetch, _ status: HTTPResponse.Status) -> Bool {
        engine.inFlightFetches.end(fetch.inFlight, fetch.fetcher.key, changedNothing: true)
        engine.origins.leave(fetch.origin, prepared.request.client)
        return fetch.inFlight.release(status) && markOver()
    }

    private func deliver(_ delivery: InFlightFetch.Delivery, _ fetch: Fetch) {
        let delivered = state.withLock { state -> CacheResponse? in
            let action = state.flow.received(delivery)
            if case .deliver(var response) = action {
                response.forecastSubject = state.flow.forecastSubject
                return response
            }
            state.beginning = .received(action, fetch.inFlight)
            return nil
        }
        guard var response = delivered else { return fetch.completion(.continueInTask) }
        prepared.rules?.edit(&response)
        engine.record(response, to: prepared)
        fetch.completion(.response(response))
    }

    /// Continues in tasks: a task for the fetch, and the caller's own task if the caller still
    /// waits.
    private func continueInTask(_ fetch: Fetch, from beginning: Fetcher.Beginning) {
        let fetcher = fetch.fetcher
        fetch.inFlight.start(on: prepared.request.executionContext.executor) { await fetcher.run($0, from: beginning) }
        if markOver() { fetch.completion(.continueInTask) }
    }

    /// - Returns: whether the exchange had not ended before.
    private func markOver() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }

    /// Ends an exchange whose caller has disconnected. Does nothing once the caller has an outcome.
    package func abandon() {
        guard case .waiting(let inFlight) = state.withLock({ $0.beginning }), markOver() else { return }
        inFlight.leave(isLeader: true)
        engine.record(CancellationError(), of: prepared.presented)
    }

    /// Returns the flow and its progress, for a task. If the engine is closed, the caller stops
    /// waiting for its fetch.
    fileprivate func handOver() -> (flow: ExchangeFlow, beginning: Exchange.Beginning) {
        let (flow, beginning) = state.withLock { ($0.flow, $0.beginning) }
        if engine.inFlightFetches.isClosed, case .waiting(let inFlight) = beginning { inFlight.leave(isLeader: true) }
        return (flow, beginning)
    }
}

extension CacheEngine {
    /// Starts an exchange on the calling event loop: see ``ExchangeAttempt``.
    package func attempt(on prepared: PreparedRequest) -> ExchangeAttempt { ExchangeAttempt(self, prepared) }

    /// Continues an exchange that an event loop could not complete.
    @concurrent
    package func respond(to attempt: ExchangeAttempt) async throws -> CacheResponse {
        let (flow, beginning) = attempt.handOver()
        return try await respond(flow, from: beginning)
    }

    /// Serves a request on the calling thread, if that needs no waiting and no work afterward. It
    /// follows the request's preference, which may allow a stale response. Takes a few
    /// microseconds.
    ///
    /// - Parameters:
    ///   - mayRead: whether the store's disk may be read if memory does not have the answer, as
    ///     long as reads are fast (``ExecutionContext/ReadingPace``).
    ///   - take: creates the caller's value from the response. If it returns `nil`, no response was
    ///     served, and none is recorded.
    /// - Returns: `nil` if the request was not served here. In that case, call
    ///   ``respond(to:)-(CacheRequest)``.
    package func attempt<Value>(
        on request: CacheRequest,
        mayRead: Bool,
        _ take: (CacheResponse) throws -> Value?
    ) rethrows -> Value? {
        guard request.head.method == .get, request.isCollapsible, let prepared = prepare(request),
            mayAttempt(prepared), let key = prepared.key
        else { return nil }
        let start = lookupStart(key, for: request)
        var found = prepared.found { store.resident($0) }
        if found == nil, mayRead, let blockingLookup {
            found = readingPace.read { StoredLookup(prepared: prepared, lookup: blockingLookup).read() }
        }
        guard let found else { return nil }
        var flow = ExchangeFlow(prepared, options: options, now: clock.now())
        guard case .served(_, let response, _) = serveAtOnce(&flow, found, since: start),
            let value = try take(response)
        else { return nil }
        record(response, to: prepared)
        return value
    }

    /// Checks whether a hit's conditions still hold. If they do, records an exchange that ended in
    /// this hit.
    ///
    /// - Returns: the current age in milliseconds, RFC 9111 §4.2.3; `nil` if the conditions do not
    ///   hold.
    package func revalidateHit(_ hit: ImmediateHit.Conditions, at now: Timestamp) -> Int64? {
        guard hit.settings == settingsVersion, let age = hit.age(at: now), hit.hold(in: store) else { return nil }
        record(.hit, hit.status, hit.method) {
            CacheOutcome(isHit: true, timeToLive: (hit.lifetime - age) / 1000).cacheStatus()
        }
        return age
    }

    /// The current time, by the engine's clock.
    package var now: Timestamp { clock.now() }

    /// Returns whether a request may be served without a task: it is a GET or HEAD without content,
    /// uses stored responses, has only keys that are known in advance, and the engine is not
    /// closed.
    fileprivate func mayAttempt(_ prepared: PreparedRequest) -> Bool {
        prepared.request.body == nil && (prepared.method == .get || prepared.method == .head)
            && !prepared.request.ignoresStored && !inFlightFetches.isClosed
    }

    /// Returns whether another node may have the response to a request. If so, the exchange has to
    /// wait for it.
    fileprivate func mayLook(_ prepared: PreparedRequest) -> Bool {
        finder?.worthwhile(prepared.fleetKey) != nil
    }

    /// The result of a lookup for a driver that cannot wait.
    fileprivate enum AtOnce {
        case served(ExchangeFlow.Serve, CacheResponse, content: ByteBuffer)
        case notServed(ExchangeFlow.LookupAction)
    }

    /// Lets the flow decide about a lookup, and serves its choice if the content is in memory and
    /// nothing has to be done afterward.
    fileprivate func serveAtOnce(
        _ flow: inout ExchangeFlow,
        _ found: FoundResponses,
        since start: LookupStart
    ) -> AtOnce {
        let prepared = flow.prepared
        let candidates =
            found.common.map { found.own.responses + prepared.forPrincipal($0.responses) } ?? found.own.responses
        let action = flow.lookupFinished(candidates, isWhole: true, since: start) { clock.now() }
        guard case .serve(let serve) = action, !serve.isToBeRefreshed else { return .notServed(action) }
        let (head, selection) = prepared.head(for: serve)
        var content = ByteBuffer()
        switch selection {
        case nil: break
        case .complete where prepared.method == .head: break
        case .complete:
            guard let body = serve.stored.content?.body else { return .notServed(action) }
            content = body
        case .range, .ranges, .unsatisfiable, .missing: return .notServed(action)
        }
        let body = selection == nil || prepared.method == .head ? BodyStream.empty : BodyStream(content)
        var response = response(serve, head, body, for: prepared)
        prepared.rules?.edit(&response)
        return .served(serve, response, content: content)
    }
}
