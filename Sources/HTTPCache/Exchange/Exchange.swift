import HTTPCacheSemantics

/// Drives one exchange in a task: performs what ``ExchangeFlow`` decides.
struct Exchange {
    /// How far the exchange has come when the task begins.
    enum Beginning {
        case nothing
        /// The flow looked up and decided this.
        case decided(ExchangeFlow.LookupAction)
        /// The flow waits for its own fetch, which is under way.
        case waiting(Fill)
        /// That fetch has a result, and the flow decided this.
        case received(ExchangeFlow.FetchAction, Fill)
    }

    let engine: CacheEngine
    private(set) var flow: ExchangeFlow

    private var prepared: PreparedRequest { flow.prepared }
    private var request: CacheRequest { flow.prepared.request }
    private let key: CacheKey
    /// The peer lookup whose lease belongs to the fetch that this exchange leads.
    private var find: PeerLookups.Find?

    init(_ flow: ExchangeFlow, key: CacheKey, on engine: CacheEngine) {
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
        case .waiting(let fill):
            return try await response(of: fill)
        case .received(let action, let fill):
            return try await response(action, fill)
        }
        while true {
            let start = engine.lookupStart(key)
            let (found, isWhole) = await engine.storedResponses(for: prepared)
            let action = flow.lookedUp(found, isWhole: isWhole, since: start) { engine.clock.now() }
            if let response = try await perform(action) { return response }
        }
    }

    // MARK: Lookup

    /// - Returns: `nil` if the store is to be looked up again.
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
            case .refuse(let refusal): throw refusal
            }
        }
    }

    /// Renews a stored response that was served. No caller waits for it.
    private func renew(_ serve: ExchangeFlow.Serve) {
        guard serve.isToBeRefreshed else { return }
        let origin = Origin(prepared.target)
        let renewal = flow.renewal(
            of: serve,
            recent: engine.throttle.recent(key, at: flow.now)?.failure,
            isOriginUnreachable: verdict(of: origin) != .reachable
        )
        // The mode may have changed meanwhile.
        guard let renewal, engine.mode != .offline else { return }
        let fetcher = Fetcher(engine: engine, prepared: renewal.prepared, key: key, plan: renewal.plan)
        guard let finder = engine.finder, let shared = finder.worthwhile(renewal.prepared.keyForOthers) else {
            return renew(by: fetcher)
        }
        // One peer lookup and one request to the origin for all nodes. If this hit renews nothing,
        // the next one does.
        if finder.isLooking(shared) || engine.fills.isInFlight(key) { return }
        Task { [self] in
            let look = await finder.find(shared) { await fetcher.adopt(shared, patience: nil, $0) }
            guard !look.isAdopted, !look.isOthers else { return }
            var fetcher = fetcher
            fetcher.lease = look.find.takeLease()
            renew(by: fetcher)
        }
    }

    /// A busy origin is not asked.
    private func renew(by fetcher: Fetcher) {
        let origin = Origin(prepared.target)
        guard engine.origins.enterIfFree(origin, request.client) else { return }
        guard case .lead(let fill) = admission(to: fetcher.plan, as: .background) else {
            return engine.origins.leave(origin, request.client)
        }
        fill.start(on: request.place.executor) { await fetcher.run($0, from: .entered) }
    }

    // MARK: The origin

    /// - Returns: `nil` if the store is to be looked up again.
    private mutating func ask() async throws -> CacheResponse? {
        if await look() { return nil }
        let origin = Origin(prepared.target)
        let recent = request.isProbe ? nil : engine.throttle.recent(key, at: flow.now)?.failure
        switch flow.considered(recent: recent, verdict: verdict(of: origin)) {
        case .admit: break
        case .serve(let serve):
            if let response = await engine.open(serve, for: prepared) { return response }
        case .refuse(let refusal):
            guard engine.origins.admits(origin, prepared.asked, at: flow.now) else { throw refusal }
        }
        // A node that is cut off does not know whether a purge came after another caller's request.
        let isSharing = request.isCollapsible && prepared.trust != .none
        switch flow.admitted(admission(to: flow.plan, as: isSharing ? .sharing : .alone)) {
        case .lookUp: return nil
        case .refuse(let refusal): throw refusal
        case .lead(let fill):
            start(fill)
            return try await response(of: fill)
        case .join(let fill):
            find = nil
            return try await response(of: fill)
        }
    }

    /// Looks for a response of another node, unless a fetch is under way that may serve this
    /// exchange.
    ///
    /// - Returns: whether one is stored here now.
    private mutating func look() async -> Bool {
        guard let finder = engine.finder, let shared = finder.worthwhile(flow.keyElsewhere),
            !engine.fills.isInFlight(key), let plan = flow.plan
        else { return false }
        let fetcher = Fetcher(engine: engine, prepared: prepared, key: key, plan: plan)
        let patience = flow.waitLimit
        let look = await finder.find(shared) { find in await fetcher.adopt(shared, patience: patience, find) }
        find = look.find
        flow.lookedElsewhere(isAdopted: look.isAdopted, isOthers: look.isOthers)
        return look.isAdopted
    }

    /// The breaker's verdict; if no breaker applies, the origin may be asked.
    private func verdict(of origin: Origin) -> Breaker.Verdict {
        prepared.usesBreaker && !request.isProbe
            ? engine.origins.verdict(origin, { prepared.asked }, at: flow.now) : .reachable
    }

    private func admission(to plan: FetchPlan?, as role: FillRegistry.Role) -> FillRegistry.Admission {
        guard let plan else { return .lookAgain }
        return engine.fills.admit(
            key,
            as: role,
            seen: role == .sharing ? flow.seenFills : nil,
            fence: plan.known.fence,
            rules: prepared.rulesIdentity,
            check: request.contentCheck,
            mayReuse: flow.machine.mayReuse
        )
    }

    private mutating func start(_ fill: Fill) {
        guard let plan = flow.plan else { return }
        // The response to a probe ends the probing, which must not end the probe's fetch.
        if request.isProbe { fill.keepGoing() }
        let lease = find?.takeLease()
        find = nil
        let fetcher = Fetcher(engine: engine, prepared: prepared, key: key, plan: plan, lease: lease)
        fill.start(on: request.place.executor) { await fetcher.run($0) }
    }

    // MARK: The fetch

    /// Waits for a fetch, and then for those that the flow asks for in its place.
    private mutating func response(of fill: Fill) async throws -> CacheResponse {
        try await response(try await result(of: fill), fill)
    }

    private mutating func response(
        _ decided: ExchangeFlow.FetchAction,
        _ begun: Fill
    ) async throws -> CacheResponse {
        var (action, fill) = (decided, begun)
        while true {
            if let response = try await perform(action, fill) { return response }
            guard case .lead(let alone) = admission(to: flow.plan, as: .alone) else {
                throw ExchangeError.shutDown(request)
            }
            start(alone)
            fill = alone
            action = try await result(of: fill)
        }
    }

    private mutating func result(of fill: Fill) async throws -> ExchangeFlow.FetchAction {
        do {
            let isLeader = !flow.isCollapsed
            guard let limit = flow.waitLimit else {
                return flow.received(try await fill.waitForHead(isLeader: isLeader))
            }
            // The in-flight fetch continues without this caller.
            let delivery = try await engine.sleeper.limit(limit, onTimeout: { fill.keepGoing() }) {
                try await fill.waitForHead(isLeader: isLeader)
            }
            return delivery.map { flow.received($0) } ?? flow.waitedTooLong()
        } catch {
            try Task.checkCancellation()
            return flow.failed(error)
        }
    }

    /// - Returns: `nil` if the flow's plan is to be fetched for this caller alone.
    private mutating func perform(_ action: ExchangeFlow.FetchAction, _ fill: Fill) async throws -> CacheResponse? {
        switch action {
        case .deliver(let response):
            inform(of: fill)
            return response
        case .serveValidated(let serve):
            if let response = await engine.open(serve, for: prepared, isValidated: true) {
                inform(of: fill)
                return response
            }
            flow.validatedGone()
            return nil
        case .standIn(let serve):
            if let response = await engine.open(serve, for: prepared) { return response }
            let found = await engine.storedResponses(for: prepared).found
            return try await perform(flow.standInGone(found, at: engine.clock.now()), fill)
        case .fetchAlone: return nil
        case .refuse(let error): throw error
        }
    }

    /// Passes on the interim responses that came before another caller's response.
    private func inform(of fill: Fill) {
        guard flow.isCollapsed, let inform = request.onInformational else { return }
        for interim in fill.interims { inform(interim) }
    }
}
