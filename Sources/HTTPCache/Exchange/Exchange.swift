import HTTPCacheSemantics
import HTTPTypes

/// Drives one exchange in a task by performing the decisions of ``ExchangeFlow``.
struct Exchange {
    /// The progress of the exchange when the task begins.
    enum Beginning {
        case nothing
        /// The lookup is done, and the flow made this decision.
        case decided(ExchangeFlow.LookupAction)
        /// The flow waits for its own fetch, which is in progress.
        case waiting(InFlightFetch)
        /// The fetch has a result, and the flow made this decision.
        case received(ExchangeFlow.FetchAction, InFlightFetch)
    }

    let engine: CacheEngine
    private(set) var flow: ExchangeFlow

    private var prepared: PreparedRequest { flow.prepared }
    private var request: CacheRequest { flow.prepared.request }
    private let key: StoreKey
    /// The peer lookup whose lease belongs to the fetch that this exchange leads.
    private var find: PeerLookups.Find?

    init(_ flow: ExchangeFlow, key: StoreKey, on engine: CacheEngine) {
        self.flow = flow
        self.key = key
        self.engine = engine
    }

    /// - Throws: ``ExchangeError``, `CancellationError`.
    mutating func run(from beginning: Beginning = .nothing) async throws -> CacheResponse {
        switch beginning {
        case .nothing: break
        case .decided(let action):
            if let response = try await perform(action) { return response }
        case .waiting(let inFlight):
            return try await response(of: inFlight)
        case .received(let action, let inFlight):
            return try await response(action, inFlight)
        }
        while true {
            let start = engine.lookupStart(key, for: prepared.request)
            let (found, isWhole) = await engine.storedResponses(for: prepared)
            let action = flow.lookupFinished(found, isWhole: isWhole, since: start) { engine.clock.now() }
            if let response = try await perform(action) { return response }
        }
    }

    // MARK: Lookup

    /// - Returns: `nil` if the store must be searched again.
    private mutating func perform(_ decided: ExchangeFlow.LookupAction) async throws -> CacheResponse? {
        var action = decided
        while true {
            switch action {
            case .serve(let serve):
                if let response = await engine.open(serve, for: prepared) {
                    renew(serve)
                    return response
                }
                action = flow.bodyGone()
            case .lookUp: return nil
            case .ask: return try await ask()
            case .refuse(let refusal): return try await alternative(to: refusal)
            }
        }
    }

    /// Serves a stored response to a request that must not be sent, if its origin is not expected
    /// to respond.
    ///
    /// - Throws: the refusal, if there is no such response.
    private func alternative(to refusal: ExchangeError) async throws -> CacheResponse {
        let alternative = flow.alternativeToRefusing(
            recent: engine.throttle.recent(key, at: flow.now)?.failure,
            verdict: verdict(of: engine.origin(of: prepared.target))
        )
        switch alternative {
        case .serve(let serve, _)?:
            guard let response = await engine.open(serve, for: prepared) else { throw refusal }
            return response
        case .refuse(let reason)?: throw reason
        case .ask?, nil: throw refusal
        }
    }

    /// Renews a stored response that was served. No caller waits for the renewal.
    private func renew(_ serve: ExchangeFlow.Serve) {
        guard serve.isToBeRefreshed else { return }
        let origin = engine.origin(of: prepared.target)
        let renewal = flow.renewal(
            of: serve,
            recent: engine.throttle.recent(key, at: flow.now)?.failure,
            isOriginUnreachable: verdict(of: origin) != .reachable
        )
        // The mode may have changed in the meantime.
        guard let renewal, engine.modes.mode(for: prepared.presentedTarget) != .offline else { return }
        let fetcher = Fetcher(
            engine: engine,
            origin: origin,
            prepared: renewal.prepared,
            key: key,
            plan: renewal.plan
        )
        guard let finder = engine.finder, let peerKey = finder.worthwhile(renewal.prepared.fleetKey) else {
            return renew(by: fetcher)
        }
        // All nodes share one peer lookup and one request to the origin. If this hit does not renew
        // the response, a later hit will.
        if finder.isLookingUp(peerKey) || engine.inFlightFetches.isInFlight(key) { return }
        Task { [self] in
            let lookup = await finder.find(peerKey) { await fetcher.accept(peerKey, patience: nil, $0) }
            guard !lookup.isAccepted, !lookup.isOthers else { return }
            var fetcher = fetcher
            fetcher.lease = lookup.find.takeLease()
            renew(by: fetcher)
        }
    }

    /// Starts the fetch, unless the origin is busy.
    private func renew(by fetcher: Fetcher) {
        let origin = fetcher.origin
        guard engine.origins.enterIfFree(origin, request.client) else { return }
        let role: InFlightFetches.Role =
            fetcher.request.head.headerFields.contains(.range) ? .backgroundPart : .background
        guard case .lead(let inFlight) = admission(to: fetcher.plan, as: role) else {
            return engine.origins.leave(origin, request.client)
        }
        inFlight.start(on: request.executionContext.executor) { await fetcher.run($0, from: .entered) }
    }

    // MARK: The origin

    /// - Returns: `nil` if the store must be searched again.
    private mutating func ask() async throws -> CacheResponse? {
        if await lookUpAtPeers() { return nil }
        let origin = engine.origin(of: prepared.target)
        let recent = request.isProbe ? nil : engine.throttle.recent(key, at: flow.now)?.failure
        switch flow.considered(recent: recent, verdict: verdict(of: origin)) {
        case .admit: break
        case .serve(let serve):
            if let response = await engine.open(serve, for: prepared) { return response }
        case .refuse(let refusal):
            guard engine.origins.admits(origin, prepared.asked, at: flow.now) else { throw refusal }
        }
        // A disconnected node cannot know whether there was a purge after another caller's request
        // was sent.
        let isSharing =
            request.isCollapsible && prepared.contact != .none && !prepared.sendsUnkeyedCookies
            && !engine.isUnshared(key)
        // The complete response may have been stored since the lookup. A part would replace it.
        let seen = isSharing || request.head.headerFields.contains(.range) ? flow.seenFetches : nil
        switch flow.admitted(admission(to: flow.plan, as: isSharing ? .sharing : .alone, seen: seen)) {
        case .lookUp: return nil
        case .refuse(let refusal): throw refusal
        case .lead(let inFlight):
            start(inFlight)
            return try await response(of: inFlight)
        case .join(let inFlight):
            find = nil
            return try await response(of: inFlight)
        }
    }

    /// Looks up another node's response, unless a running fetch may serve this exchange.
    ///
    /// - Returns: whether a response is stored here now.
    private mutating func lookUpAtPeers() async -> Bool {
        guard let finder = engine.finder, let peerKey = finder.worthwhile(flow.peerKey),
            !engine.inFlightFetches.isInFlight(key), let plan = flow.plan
        else { return false }
        let origin = engine.origin(of: prepared.target)
        let fetcher = Fetcher(engine: engine, origin: origin, prepared: prepared, key: key, plan: plan)
        let patience = flow.waitLimit
        let lookup = await finder.find(peerKey) { find in await fetcher.accept(peerKey, patience: patience, find) }
        find = lookup.find
        flow.peersLookedUp(isAccepted: lookup.isAccepted, isOthers: lookup.isOthers)
        return lookup.isAccepted
    }

    /// Returns the breaker's verdict; `reachable` if no breaker applies.
    private func verdict(of origin: Origin) -> Breaker.Verdict {
        prepared.usesBreaker && !request.isProbe
            ? engine.origins.verdict(origin, { prepared.asked }, at: flow.now) : .reachable
    }

    private func admission(
        to plan: FetchPlan?,
        as role: InFlightFetches.Role,
        seen: UInt32? = nil
    ) -> InFlightFetches.Admission {
        guard let plan else { return .lookAgain }
        return engine.inFlightFetches.admit(
            key,
            as: role,
            seen: seen,
            fencingNumber: plan.known.fencingNumber,
            rules: prepared.rulesIdentity,
            credentials: prepared.sharedCredentials,
            check: request.contentCheck,
            mayReuse: flow.machine.mayReuse
        )
    }

    private mutating func start(_ inFlight: InFlightFetch) {
        guard let plan = flow.plan else { return }
        // The response to a probe ends the probing, and with it this task, but must not end the
        // probe's fetch.
        if request.isProbe { inFlight.keepGoing() }
        let lease = find?.takeLease()
        find = nil
        let fetcher = Fetcher(
            engine: engine,
            origin: engine.origin(of: prepared.target),
            prepared: prepared,
            key: key,
            plan: plan,
            lease: lease
        )
        inFlight.start(on: request.executionContext.executor) { await fetcher.run($0) }
    }

    // MARK: The fetch

    /// Waits for a fetch, and then for any replacements that the flow requests.
    private mutating func response(of inFlight: InFlightFetch) async throws -> CacheResponse {
        try await response(try await result(of: inFlight), inFlight)
    }

    private mutating func response(
        _ decided: ExchangeFlow.FetchAction,
        _ begun: InFlightFetch
    ) async throws -> CacheResponse {
        var (action, inFlight) = (decided, begun)
        while true {
            if let response = try await perform(action, inFlight) { return response }
            guard case .lead(let alone) = admission(to: flow.plan, as: .alone) else {
                throw ExchangeError.shutDown(request)
            }
            start(alone)
            inFlight = alone
            action = try await result(of: inFlight)
        }
    }

    private mutating func result(of inFlight: InFlightFetch) async throws -> ExchangeFlow.FetchAction {
        do {
            let isLeader = !flow.isCollapsed
            guard let limit = flow.waitLimit else {
                return flow.received(try await inFlight.waitForHead(isLeader: isLeader))
            }
            // The in-flight fetch continues without this caller.
            let delivery = try await engine.sleeper.limit(limit, onTimeout: { inFlight.keepGoing() }) {
                try await inFlight.waitForHead(isLeader: isLeader)
            }
            return delivery.map { flow.received($0) } ?? flow.waitedTooLong()
        } catch {
            try Task.checkCancellation()
            return flow.failed(error)
        }
    }

    /// - Returns: `nil` if the flow's plan must now be fetched for this caller only.
    private mutating func perform(_ action: ExchangeFlow.FetchAction, _ inFlight: InFlightFetch) async throws
        -> CacheResponse?
    {
        switch action {
        case .deliver(let response):
            inform(of: inFlight)
            return response
        case .serveValidated(let serve):
            if let response = await engine.open(serve, for: prepared, isValidated: true) {
                inform(of: inFlight)
                return response
            }
            flow.validatedGone()
            return nil
        case .standIn(let serve):
            if let response = await engine.open(serve, for: prepared) { return response }
            let found = await engine.storedResponses(for: prepared).found
            return try await perform(flow.standInGone(found, at: engine.clock.now()), inFlight)
        case .fetchAlone: return nil
        case .refuse(let error): throw error
        }
    }

    /// Forwards the interim responses that arrived before the response to another caller's request.
    private func inform(of inFlight: InFlightFetch) {
        guard flow.isCollapsed, let inform = request.onInformational else { return }
        for interim in inFlight.interims { inform(interim) }
    }
}
