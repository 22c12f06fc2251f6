import HTTPCacheSemantics
import HTTPTypes

/// One exchange, from request to response, as a value: it takes an event and returns an action, but
/// does not perform the action.
///
/// Look up → decide → consider the origin → lead or join a fetch → deliver, or serve stale. Every
/// exchange takes these steps, with either driver: ``Exchange`` in a task, ``ExchangeAttempt`` on
/// an event loop. ``ReuseMachine`` decides which stored response may be served; ``FetchDecision``
/// decides how to handle the origin's response.
///
/// Each event is valid in one state only, which its method checks with a precondition.
struct ExchangeFlow: Sendable {
    typealias Serve = ReuseMachine.Serve

    /// The action after a lookup, or after a body turned out to be missing.
    enum LookupAction: Sendable {
        /// Open the body and serve it. If that fails, call ``bodyGone()``.
        case serve(Serve)
        /// Look up again, because the response to serve may have been replaced.
        case lookUp
        /// Send the request to the origin, if the origin's health allows it:
        /// ``considered(recent:verdict:)``.
        case ask
        case refuse(ExchangeError)
    }

    /// The action after checking the origin's health.
    enum OriginAction: Sendable {
        case admit
        /// The origin is not expected to respond. Serve this response. If its body no longer
        /// exists, send the request anyway.
        case serve(Serve)
        /// The origin is not expected to respond, and no stored response may be served. Refuse,
        /// unless the breaker lets this request through as a trial.
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
        /// Serve this stale response instead of the origin's response. If its body no longer
        /// exists, look up again and call ``standInGone(_:at:)``.
        case standIn(Serve)
        /// Fetch ``plan`` for this caller only.
        case fetchAlone
        case refuse(any Error)
    }

    /// The reason to serve a stale response, with the alternative if there is none.
    private enum StandIn {
        /// The origin takes longer than the caller waits.
        case slow
        /// The origin responded with an error, which this caller may get.
        case failed(CacheResponse)
        /// The origin responded with an error, which only other callers may get. This caller must
        /// send its own request.
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
        /// If `isReplacement` is `true`, the response replaces another stored response whose body
        /// no longer exists.
        case standingIn(StandIn, isReplacement: Bool)
        case ended
    }

    /// The maximum number of lookups in one exchange. After that, it no longer waits for the
    /// results of other fetches, and sends its own request.
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
    /// Whether the exchange joined a fetch that another caller leads.
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

    /// Handles the result of a lookup.
    ///
    /// - Parameters:
    ///   - found: everything stored under the request's keys, the principal's own first.
    ///   - isWhole: whether the store could return all of these responses.
    ///   - start: the state from before the lookup.
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

    /// Handles a stored response whose body no longer exists, because it is damaged, or was evicted
    /// or replaced since the lookup. In the last case, there is a replacement.
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

    /// Returns the fetch that renews a stored response after it was served, without a caller.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether the origin's breaker is open.
    /// - Returns: the request as a caller of that fetch would present it, and the fetch; `nil` if
    ///   the response should not be renewed now.
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

    /// The key under which another node may have a useful response; `nil` if no such response would
    /// be useful, or if this exchange has already looked it up.
    var peerKey: StoreKey? {
        guard case .asking = state, !hasAskedPeers, !request.ignoresStored, let plan, plan.fetch.completing == nil,
            plan.fetch.reason.mayBeMetByPeer
        else { return nil }
        return prepared.fleetKey
    }

    /// Handles the end of the peer lookup.
    ///
    /// - Parameters:
    ///   - isAccepted: whether a response is now stored here, so that the store must be searched
    ///     again.
    ///   - isOthers: whether another exchange performed the lookup, possibly for another variant.
    ///     If so, this exchange may perform one more lookup for its own variant.
    mutating func peersLookedUp(isAccepted: Bool, isOthers: Bool) {
        guard case .asking = state else { preconditionFailure("No request to the origin was due.") }
        hasAskedPeers = !isOthers || !isAccepted || isFromPeer
        guard isAccepted else { return }
        isFromPeer = true
        state = .lookingUp
    }

    // MARK: The origin

    /// Handles the origin's health.
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - verdict: the verdict of the origin's breaker on this request.
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

    /// Handles the origin's health after a lookup that ended in a refusal.
    ///
    /// - Parameters: see ``considered(recent:verdict:)``.
    /// - Returns: `nil` if the refusal stands.
    func alternativeToRefusing(
        recent: FailureThrottle.Failure?,
        verdict: Breaker.Verdict
    ) -> ReuseMachine.Alternative? {
        guard case .ended = state else { preconditionFailure("No request was refused.") }
        return machine.alternativeToRefusing(recent, isOriginUnreachable: verdict != .reachable)
    }

    /// The number of ended fetches seen before the last lookup, for
    /// ``InFlightFetches/admit(_:as:seen:fencingNumber:rules:check:mayReuse:)``; `nil` if this
    /// exchange may not look up again.
    var seenFetches: UInt32? { lookups < Self.lookupLimit ? lookup.start.endedFetches : nil }

    /// Handles the admission or rejection of the fetch.
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

    /// The maximum time that the caller waits for the response's head before a stale response is
    /// served; `nil` if there is no limit, or if no stored response may be used.
    var waitLimit: Duration? { machine.originIsSlow() == nil ? nil : softTimeout }

    /// Handles the result of the fetch.
    mutating func received(_ delivery: InFlightFetch.Delivery) -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        switch delivery {
        case .shared(let head, let response, let reader, let notStored):
            guard isFitting(head), !isCollapsed || mayServeCollapsed(head) else { return fetchAlone() }
            state = .ended
            var outcome = outcome
            outcome.isStored = notStored == nil && !isCollapsed
            outcome.notStored = notStored
            if isCollapsed { return .deliver(collapsed(response, reader.stream, head, outcome)) }
            var delivered = network(response, reader.stream, head, outcome)
            delivered.lateRefusal = reader.lateRefusal
            return .deliver(delivered)
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

    /// Handles the failure of the fetch. If the caller was canceled, it sends no request.
    mutating func failed(_ error: any Error) -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        guard error is CancellationError else { return standIn(.unreachable(error)) }
        // Others canceled the fetch before this caller joined, which must not end this caller's
        // exchange.
        if isCollapsed { return fetchAlone() }
        state = .ended
        return .refuse(ExchangeError.shutDown(request))
    }

    /// Handles the end of ``waitLimit``. The fetch continues without this caller.
    mutating func waitedTooLong() -> FetchAction {
        guard case .waiting = state else { preconditionFailure("No fetch was in progress.") }
        return standIn(.slow)
    }

    /// Handles a validated response whose body no longer exists. After that, ``plan`` must be
    /// fetched for this caller only.
    mutating func validatedGone() {
        guard case .validated = state else { preconditionFailure("No response was validated.") }
        _ = fetchAlone(plan?.unconditional(request.head))
    }

    /// Returns whether a shared fetch's response matches this request's variant.
    private func isFitting(_ head: StoredResponseHead) -> Bool {
        !isCollapsed || policy.matchesVariant(head, prepared.selecting)
    }

    private func mayServeCollapsed(_ head: StoredResponseHead) -> Bool {
        prepared.sharesArrivingResponses || policy.mayServeCollapsed(head)
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

    /// Handles a stale response whose body no longer exists. If the response was replaced since the
    /// lookup, the replacement is served, but no third response.
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
        // Make one more attempt. After that, this caller gets the response even if it looks wrong.
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

    /// Returns a response for this caller only, as received.
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
            ageMilliseconds: policy.currentAge(of: head, at: max(now, head.responseTime)).milliseconds,
            outcome: outcome
        )
    }

    /// Returns the response to another caller's request as if it came from the store: with its age,
    /// and without the fields that are meant only for the other caller. RFC 9111 §4
    private func collapsed(
        _ response: HTTPResponse,
        _ body: BodyStream,
        _ head: StoredResponseHead,
        _ outcome: CacheOutcome
    ) -> CacheResponse {
        // The response may have arrived long after this caller.
        let freshness = policy.freshness(of: head, at: max(now, head.responseTime))
        var shared = response
        shared.headerFields = policy.servedFields(of: head, age: freshness.age)
        shared.headerFields[.contentLength] = response.headerFields[.contentLength]
        var collapsed = network(shared, body, head, outcome)
        // For a caller that waited for the head, the response is new. For a caller that came later,
        // it counts as stored.
        if head.responseTime < now {
            collapsed.isStale = !freshness.isFresh
            collapsed.outcome.timeToLive = freshness.secondsToLive
        }
        return collapsed
    }
}
