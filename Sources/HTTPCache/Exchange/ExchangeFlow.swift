import HTTPCacheSemantics
import HTTPTypes

/// One exchange from its request to its response, as a value: events in, one action out. It
/// performs nothing.
///
/// Look up → decide → ask the origin → lead a fetch or join one → deliver, or serve stale. Every
/// exchange takes these steps, with either driver: ``Exchange`` in a task, ``ExchangeAttempt`` on
/// an event loop. ``ReuseMachine`` decides which stored response may be served; ``FetchDecision``
/// decides how to handle the origin's response.
///
/// Each event is legal in one state, which its method checks with a precondition.
struct ExchangeFlow: Sendable {
    typealias Serve = ReuseMachine.Serve

    /// The action after a lookup, or after a body turned out to be missing.
    enum LookupAction: Sendable {
        /// Open the body and serve it; ``bodyGone()`` if that fails.
        case serve(Serve)
        /// Look up again, because the response to serve may have been replaced.
        case lookUp
        /// Ask the origin, if it can be asked: ``considered(recent:verdict:)``.
        case ask
        case refuse(ExchangeError)
    }

    /// The action after checking the origin's health.
    enum OriginAction: Sendable {
        case admit
        /// The origin would not respond. Serve this; if its body no longer exists, ask anyway.
        case serve(Serve)
        /// The origin would not respond, and no stored response may be served. Refuse, unless the
        /// breaker lets this request through as a trial.
        case refuse(ExchangeError)
    }

    /// The action after a fetch was admitted.
    enum AdmissionAction: Sendable {
        case lookUp
        /// Start the fetch of ``plan``, then wait for it.
        case lead(InFlightFetch)
        /// Wait for another caller's fetch.
        case join(InFlightFetch)
        case refuse(ExchangeError)
    }

    /// The action after waiting for a fetch.
    enum FetchAction: Sendable {
        case deliver(CacheResponse)
        /// Open and serve the validated response; ``validatedGone()`` if its body no longer exists.
        case serveValidated(Serve)
        /// Serve this instead of the origin's response. If its body no longer exists, look up
        /// again: ``standInGone(_:at:)``.
        case standIn(Serve)
        /// Fetch ``plan`` for this caller only.
        case fetchAlone
        case refuse(any Error)
    }

    /// Why a stale response is served, and the alternative if there is none.
    private enum StandIn {
        /// The origin takes longer than the caller waits.
        case slow
        /// The origin responded with an error that this caller may get…
        case failed(CacheResponse)
        /// …or not, so that the caller must send its own request.
        case failedForOthers(HTTPResponse.Status)
        case looksWrong
        case unreachable(any Error)
    }

    private struct Lookup {
        var found: [StoredResponse] = []
        var isWhole = true
        var start = LookupStart(endedFetches: 0, fencingNumber: InvalidationSequence(0))
    }

    private enum State {
        case lookingUp
        case serving(Serve)
        case asking
        case admitting
        case waiting
        case validated
        /// `isReplacement`: instead of another stored response whose body no longer exists.
        case standingIn(StandIn, isReplacement: Bool)
        case ended
    }

    /// The lookups of one exchange before it stops waiting for other fetches' results and asks the
    /// origin.
    private static let lookupLimit = 4

    let prepared: PreparedRequest
    /// When the exchange began.
    let now: Timestamp
    /// The engine's soft timeout, unless a rule overrides it.
    private let softTimeout: Duration?
    private(set) var machine: ReuseMachine
    private var state = State.lookingUp
    private var lookups = 0
    /// The last lookup.
    private var lookup = Lookup()
    /// Whether this exchange has looked up a response of another node.
    private var hasAskedPeers = false
    /// Whether a response of another node was stored for this exchange.
    private var isFromPeer = false
    /// Stored responses whose bodies no longer exist.
    private var gone: [StoredResponse] = []
    /// The fetch that was decided on; `nil` before the decision.
    private(set) var plan: FetchPlan?
    /// Whether it waits for a fetch that another caller leads.
    private(set) var isCollapsed = false

    /// - Parameters:
    ///   - prepared: the request, with its policy, mode and rules.
    ///   - options: the engine's soft timeout and eager refresh.
    init(_ prepared: PreparedRequest, options: EngineOptions, now: Timestamp) {
        self.prepared = prepared
        self.now = now
        softTimeout = prepared.softTimeout(options)
        machine = ReuseMachine(prepared, now: now, eagerRefresh: options.eagerRefresh)
    }

    /// The request and the last lookup, for the offline forecast.
    var forecastSubject: OfflineForecast.Subject { OfflineForecast.Subject(prepared, lookup.found) }

    private var request: CacheRequest { prepared.request }
    private var policy: CachePolicy { prepared.policy }

    // MARK: Lookup

    /// The store was looked up.
    ///
    /// - Parameters:
    ///   - found: everything stored under the request's keys, the principal's own first.
    ///   - isWhole: whether the store could return all of it.
    ///   - start: taken before the lookup.
    ///   - now: called for every lookup except the first.
    mutating func lookupFinished(
        _ found: [StoredResponse],
        isWhole: Bool,
        since start: LookupStart,
        at now: () -> Timestamp
    ) -> LookupAction {
        guard case .lookingUp = state else { preconditionFailure("A lookup ended that was not requested.") }
        if lookups > 0 { machine.advance(to: now()) }
        lookups += 1
        lookup = Lookup(found: found, isWhole: isWhole, start: start)
        return decide()
    }

    /// The body of the stored response to serve no longer exists: it is damaged, evicted, or
    /// replaced since the lookup. In the last case there is a replacement.
    mutating func bodyGone() -> LookupAction {
        guard case .serving(let serve) = state else {
            preconditionFailure("No stored response was selected.")
        }
        gone.append(serve.stored)
        guard lookups == Self.lookupLimit else {
            state = .lookingUp
            return .lookUp
        }
        return decide()
    }

    private mutating func decide() -> LookupAction {
        var candidates = request.ignoresStored ? [] : lookup.found
        if !gone.isEmpty { candidates.removeAll { gone.contains($0) } }
        switch machine.decide(on: candidates) {
        case .serve(var serve):
            if isFromPeer, serve.outcome.isHit, serve.outcome.detail == nil { serve.outcome.detail = .fleet }
            state = .serving(serve)
            return .serve(serve)
        case .fetch(let fetch):
            plan = FetchPlan(
                fetch,
                lookup.found,
                isWhole: lookup.isWhole,
                fencingNumber: lookup.start.fencingNumber,
                for: prepared
            )
            state = .asking
            return .ask
        case .refuse(let refusal):
            state = .ended
            return .refuse(refusal)
        }
    }

    /// The fetch that renews a stored response after it was served, for no caller.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether its breaker is open.
    /// - Returns: the request as that fetch's caller would present it, and the fetch; `nil` if the
    ///   response should not be renewed now.
    func renewal(
        of serve: Serve,
        recent: FailureThrottle.Failure?,
        isOriginUnreachable: Bool
    ) -> (prepared: PreparedRequest, plan: FetchPlan)? {
        let isDue = machine.isRefreshed(
            serve,
            recent: recent,
            isOriginUnreachable: isOriginUnreachable,
            isReplayable: request.isReplayable
        )
        guard isDue else { return nil }
        let (presented, fetch) = machine.refresh(of: serve.stored)
        return (
            prepared.renewing(presented),
            FetchPlan(fetch, FetchPlan.Known(fencingNumber: lookup.start.fencingNumber, success: serve.stored))
        )
    }

    // MARK: Other nodes

    /// The key for a possibly useful response of another node; `nil` if there is none, or if this
    /// exchange has already looked it up.
    var peerKey: CacheKey? {
        guard case .asking = state, !hasAskedPeers, !request.ignoresStored, let plan, plan.fetch.completing == nil,
            plan.fetch.reason.mayBeMetByPeer
        else { return nil }
        return prepared.fleetKey
    }

    /// The peer lookup has ended.
    ///
    /// - Parameters:
    ///   - isAccepted: whether a response is now stored here, so that the store must be looked up
    ///     again.
    ///   - isOthers: whether another exchange performed the lookup, possibly for another variant.
    ///     Then this one may perform one more, for its own.
    mutating func peersLookedUp(isAccepted: Bool, isOthers: Bool) {
        guard case .asking = state else { preconditionFailure("No request to the origin was due.") }
        hasAskedPeers = !isOthers || !isAccepted || isFromPeer
        guard isAccepted else { return }
        isFromPeer = true
        state = .lookingUp
    }

    // MARK: The origin

    /// The origin's health is known.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - verdict: its breaker's verdict on this request.
    mutating func considered(recent: FailureThrottle.Failure?, verdict: Breaker.Verdict) -> OriginAction {
        guard case .asking = state else { preconditionFailure("No request to the origin was due.") }
        state = .admitting
        guard !request.isProbe else { return .admit }
        switch machine.alternativeToAsking(recent, isOriginUnreachable: verdict != .reachable) {
        case .ask: return .admit
        case .serve(let serve, _): return .serve(serve)
        case .refuse(var refusal):
            if verdict == .failing {
                refusal.message =
                    "'\(request.redactedTarget)' failed repeatedly and was not requested again; "
                    + "the next attempt is within \(FailingTargets.longestPause)."
            }
            return .refuse(refusal)
        }
    }

    /// See ``InFlightFetches/admit(_:as:seen:fencingNumber:rules:check:mayReuse:)``; `nil` if this
    /// exchange has looked up often enough.
    var seenFetches: UInt32? { lookups < Self.lookupLimit ? lookup.start.endedFetches : nil }

    /// The fetch was admitted or rejected.
    mutating func admitted(_ admission: InFlightFetches.Admission) -> AdmissionAction {
        guard case .admitting = state else { preconditionFailure("No fetch was waiting for admission.") }
        switch admission {
        case .lookAgain:
            state = .lookingUp
            return .lookUp
        case .closed:
            state = .ended
            return .refuse(.shutDown(request))
        case .lead(let inFlight):
            isCollapsed = false
            state = .waiting
            return .lead(inFlight)
        case .joined(let inFlight):
            isCollapsed = true
            state = .waiting
            return .join(inFlight)
        }
    }

    // MARK: The fetch

    /// How long the caller waits for the response's head before a stale response is served; `nil`
    /// if no stored response may be used.
    var waitLimit: Duration? { machine.originIsSlow() == nil ? nil : softTimeout }

    /// The fetch has a result.
    mutating func received(_ delivery: InFlightFetch.Delivery) -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        switch delivery {
        case .shared(let head, let response, let reader, let notStored):
            guard isFitting(head), !isCollapsed || policy.mayServeCollapsed(head) else { return fetchAlone() }
            state = .ended
            var outcome = outcome
            outcome.isStored = notStored == nil && !isCollapsed
            outcome.notStored = notStored
            return .deliver(
                isCollapsed
                    ? collapsed(response, reader.stream, head, outcome)
                    : network(response, reader.stream, head, outcome)
            )
        case .exclusive(let response, let responseTime, let notStored):
            return standIn(.failed(exclusive(response, responseTime, notStored)))
        case .released(let status):
            return standIn(.failedForOthers(status))
        case .validated(let stored):
            guard isFitting(stored.head) else { return fetchAlone() }
            state = .validated
            let freshness = policy.freshness(of: stored.head, at: stored.head.responseTime)
            var outcome = outcome
            outcome.forwardStatus = 304
            outcome.timeToLive = freshness.secondsToLive
            return .serveValidated(Serve(stored: stored, freshness: freshness, outcome: outcome))
        case .refused:
            return standIn(.looksWrong)
        }
    }

    /// The fetch failed. A cancelled caller sends no request.
    mutating func failed(_ error: any Error) -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        guard error is CancellationError else { return standIn(.unreachable(error)) }
        // Cancelled by others before this caller joined, which must not end this caller's exchange.
        if isCollapsed { return fetchAlone() }
        state = .ended
        return .refuse(ExchangeError.shutDown(request))
    }

    /// ``waitLimit`` has passed. The fetch continues without this caller.
    mutating func waitedTooLong() -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        return standIn(.slow)
    }

    /// The body of the validated response no longer exists. ``plan`` must be fetched for this
    /// caller only.
    mutating func validatedGone() {
        guard case .validated = state else { preconditionFailure("No response was validated.") }
        _ = fetchAlone(plan?.unconditional(request.head))
    }

    /// Whether a shared fetch's response matches this request's variant.
    private func isFitting(_ head: StoredResponseHead) -> Bool {
        !isCollapsed || policy.matchesVariant(head, prepared.selecting)
    }

    private var outcome: CacheOutcome { CacheOutcome(forward: plan?.fetch.reason, isCollapsed: isCollapsed) }

    private mutating func fetchAlone(_ other: FetchPlan? = nil) -> FetchAction {
        if let other { plan = other }
        isCollapsed = false
        state = .waiting
        return .fetchAlone
    }

    // MARK: Serving stale

    private mutating func standIn(_ reason: StandIn) -> FetchAction {
        guard let serve = serve(reason, machine) else { return withoutStandIn(reason) }
        state = .standingIn(reason, isReplacement: false)
        return .standIn(serve)
    }

    /// The body of the stale response no longer exists. It may have been replaced since the lookup;
    /// then the replacement is served, but no third response.
    mutating func standInGone(_ found: [StoredResponse], at now: Timestamp) -> FetchAction {
        guard case .standingIn(let reason, let isReplacement) = state else {
            preconditionFailure("No stale response was available.")
        }
        var again = machine
        again.advance(to: now)
        _ = again.decide(on: found)
        guard !isReplacement, let serve = serve(reason, again) else { return withoutStandIn(reason) }
        state = .standingIn(reason, isReplacement: true)
        return .standIn(serve)
    }

    private func serve(_ reason: StandIn, _ machine: ReuseMachine) -> Serve? {
        switch reason {
        case .slow: return machine.originIsSlow()
        case .failed(let response): return machine.originResponded(status: response.head.status)
        case .failedForOthers(let status): return machine.originResponded(status: status)
        case .looksWrong: return machine.originLooksWrong()
        case .unreachable(let error):
            if case .serve(let serve) = machine.originFailed(error) { return serve }
            return nil
        }
    }

    private mutating func withoutStandIn(_ reason: StandIn) -> FetchAction {
        switch reason {
        case .slow: return fetchAlone(plan?.unconditional(request.head))
        case .failed(let response):
            state = .ended
            return .deliver(response)
        case .failedForOthers: return fetchAlone()
        // One more attempt; after that, this caller gets the response even if it looks wrong.
        case .looksWrong: return fetchAlone(plan?.unconditional(request.head, mayStandIn: false))
        case .unreachable(let error):
            state = .ended
            switch machine.originFailed(error) {
            case .refuse(let refusal): return .refuse(refusal)
            case .serve: return .refuse(ExchangeError.bodyGone(error))
            case .fetch: return .refuse(error)
            }
        }
    }

    // MARK: Responses

    /// A response for this caller only, as received.
    private func exclusive(
        _ response: TransportResponse,
        _ responseTime: Timestamp,
        _ notStored: StorageRefusal?
    ) -> CacheResponse {
        var outcome = outcome
        outcome.notStored = notStored
        let head = StoredResponseHead(
            status: response.head.status,
            fields: response.head.headerFields,
            requestTime: now,
            responseTime: responseTime
        )
        return network(response.head, response.body, head, outcome)
    }

    private func network(
        _ response: HTTPResponse,
        _ body: BodyStream,
        _ head: StoredResponseHead,
        _ outcome: CacheOutcome
    ) -> CacheResponse {
        CacheResponse(
            head: response,
            body: body,
            source: .network,
            age: policy.currentAge(of: head, at: max(now, head.responseTime)).milliseconds,
            outcome: outcome
        )
    }

    /// The response to another caller's request, as if from the store: with its age, and without
    /// the fields that are meant only for that caller. RFC 9111 §4
    private func collapsed(
        _ response: HTTPResponse,
        _ body: BodyStream,
        _ head: StoredResponseHead,
        _ outcome: CacheOutcome
    ) -> CacheResponse {
        // It may have arrived long after this caller.
        let freshness = policy.freshness(of: head, at: max(now, head.responseTime))
        var shared = response
        shared.headerFields = policy.servedFields(of: head, age: freshness.age)
        shared.headerFields[.contentLength] = response.headerFields[.contentLength]
        var collapsed = network(shared, body, head, outcome)
        // A caller that waited for the head gets a new response; a later one gets a stored
        // response.
        if head.responseTime < now {
            collapsed.isStale = !freshness.isFresh
            collapsed.outcome.timeToLive = freshness.secondsToLive
        }
        return collapsed
    }
}
