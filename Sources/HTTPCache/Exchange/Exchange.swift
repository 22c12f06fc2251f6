import HTTPCacheSemantics
import HTTPTypes

/// One caller's way through store and network: performs what ``ExchangeMachine`` decides.
struct Exchange {
    let engine: CacheEngine
    let prepared: PreparedRequest
    let key: CacheKey
    let now: Timestamp
    var machine: ExchangeMachine

    var request: CacheRequest { prepared.request }
    var policy: CachePolicy { prepared.policy }
    private var selecting: HTTPRequest { prepared.selecting }

    init(engine: CacheEngine, prepared: PreparedRequest, key: CacheKey, now: Timestamp) {
        self.engine = engine
        self.prepared = prepared
        self.key = key
        self.now = now
        self.machine = ExchangeMachine(prepared, now: now, eagerRefresh: engine.options.eagerRefresh)
    }

    /// Lookups of one exchange before it stops waiting for other fills' results and asks the
    /// origin.
    private static let lookupLimit = 4

    mutating func run() async throws -> CacheResponse {
        var lookups = 0
        while true {
            // Both are read before the lookup, so that what happens after it is noticed.
            let seen = engine.fills.endedCount(key)
            let fence = engine.store.invalidationSequence
            let (found, isWhole) = await lookup()
            if lookups > 0 { machine.advance(to: engine.clock.now()) }
            lookups += 1
            var candidates = request.ignoresStored ? [] : found
            var action = machine.lookedUp(candidates)
            while case .serve(let serve) = action {
                if let response = await self.serve(serve) {
                    refresh(serve, fence)
                    return response
                }
                action = machine.bodyGone(serve.stored, among: candidates)
                candidates.removeAll { $0.id == serve.stored.id }
            }
            switch action {
            case .serve: continue
            case .refuse(let error): throw error
            case .fetch(let fetch):
                if let serve = try insteadOfAsking(), let response = await self.serve(serve) { return response }
                let fetcher = Fetcher(
                    engine: engine,
                    prepared: prepared,
                    key: key,
                    fetch: fetch,
                    fence: fence,
                    storedSuccess: found.first {
                        $0.head.status.code < 400 && policy.matchesVariant($0.head, selecting)
                    },
                    knowsStored: isWhole,
                    storedVariants: found.filter { $0.head.status.code < 400 }
                )
                if let response = try await self.fetch(with: fetcher, seen: lookups < Self.lookupLimit ? seen : nil) {
                    return response
                }
            }
        }
    }

    /// The principal's stored responses, then the shared ones, and whether these are all. Never
    /// throws: a store that fails is a store that has nothing to serve.
    func lookup() async -> (found: [StoredResponse], isWhole: Bool) {
        let shared = prepared.sharedKey(key)
        let own = await lookup(key)
        let others = shared == key ? [] : await lookup(shared)
        var found = (own ?? []) + forPrincipal(others ?? [])
        if engine.options.usesNoVarySearch {
            for (equivalent, rule) in await NoVarySearchRules(engine: engine).equivalents(of: key, sharedKey: shared) {
                let stored = (await lookup(equivalent) ?? []).filter { NoVarySearch($0.head.fields) == rule }
                found += shared != key && equivalent.components.partition == .shared ? forPrincipal(stored) : stored
            }
        }
        return (found, own != nil && others != nil)
    }

    /// Of the shared ones those that may answer a principal: what is `private` and came to a
    /// request of nobody in particular is a guest's, and no user is shown it.
    func forPrincipal(_ shared: [StoredResponse]) -> [StoredResponse] {
        shared.contains { policy.isForOneUser($0.head) } ? shared.filter { !policy.isForOneUser($0.head) } : shared
    }

    private func lookup(_ key: CacheKey) async -> [StoredResponse]? {
        if let resident = engine.store.resident(key) { return resident }
        return await engine.recovering("lookup", at: request.place) {
            try await engine.store.lookup(key)
        }
    }

    // MARK: Origins that are known to fail

    /// What answers where asking would be in vain: the origin failed for this key a moment ago, or
    /// counts as away.
    ///
    /// - Throws: ``ExchangeError`` where the origin counts as away and nothing stored may answer.
    private func insteadOfAsking() throws -> ExchangeMachine.Serve? {
        guard !request.isProbe else { return nil }
        let origin = Origin(prepared.target)
        let recent = engine.throttle.recent(key, at: now)
        let verdict = verdict(of: origin)
        switch machine.insteadOfAsking(recent, isOriginUnreachable: verdict != .reachable) {
        case .ask: return nil
        case .serve(let serve, _): return serve
        case .refuse(var refusal):
            if engine.origins.admits(origin, prepared.asked, at: now) { return nil }
            if verdict == .failing {
                refusal.message =
                    "'\(request.redactedTarget)' failed again and again of late and was not asked for again; "
                    + "the next try comes within \(FailingTargets.longestPause)."
            }
            throw refusal
        }
    }

    /// What the breaker says of this request; where it does not count, nothing speaks against
    /// asking.
    private func verdict(of origin: Origin) -> Breaker.Verdict {
        prepared.usesBreaker ? engine.origins.verdict(origin, { prepared.asked }, at: now) : .reachable
    }

    /// Renews a stored response that was served, without anybody waiting for it.
    private func refresh(_ serve: ExchangeMachine.Serve, _ fence: InvalidationSequence) {
        guard serve.isToBeRefreshed else { return }
        let stored = serve.stored
        let origin = Origin(prepared.target)
        let isDue = machine.isRefreshed(
            serve,
            recent: engine.throttle.recent(key, at: now),
            isOriginUnreachable: verdict(of: origin) != .reachable,
            isReplayable: request.isReplayable
        )
        // The mode may have changed meanwhile; an origin that is busy is left alone.
        guard isDue, engine.mode != .offline, engine.origins.enterIfFree(origin, request.client) else { return }
        let fill = engine.fills.admitInBackground(
            key,
            fence: fence,
            rules: prepared.rulesIdentity,
            check: request.contentCheck
        )
        guard let fill else { return engine.origins.leave(origin, request.client) }
        let (presented, fetch) = machine.refresh(of: stored)
        let fetcher = Fetcher(
            engine: engine,
            prepared: prepared.renewing(presented),
            key: key,
            fetch: fetch,
            fence: fence,
            storedSuccess: stored
        )
        fill.start(on: request.place.executor) { await fetcher.run($0, from: .entered) }
    }

    // MARK: Fetching

    /// - Returns: `nil` when the store should be looked up again.
    private func fetch(with fetcher: Fetcher, seen: UInt32?) async throws -> CacheResponse? {
        guard request.isCollapsible else { return try await fetchAlone(fetcher) }
        // A body can be under way for long after its head came: who joins then reuses a response by
        // the rules for stored ones. RFC 9111 §4
        switch engine.fills.admit(
            key,
            seen: seen,
            fence: fetcher.fence,
            rules: prepared.rulesIdentity,
            check: request.contentCheck,
            mayReuse: machine.mayReuse
        ) {
        case .lookAgain: return nil
        case .closed: throw ExchangeError.shutDown(request)
        case .lead(let fill):
            // The answer ends the probing, and must not end itself with it.
            if request.isProbe { fill.keepGoing() }
            fill.start(on: request.place.executor) { await fetcher.run($0) }
            return try await answer(of: fill, fetcher, isCollapsed: false)
        case .joined(let fill):
            return try await answer(of: fill, fetcher, isCollapsed: true)
        }
    }

    private func fetchAlone(_ fetcher: Fetcher) async throws -> CacheResponse {
        guard let fill = engine.fills.admitAlone(key, fence: fetcher.fence, check: request.contentCheck)
        else {
            throw ExchangeError.shutDown(request)
        }
        if request.isProbe { fill.keepGoing() }
        fill.start(on: request.place.executor) { await fetcher.run($0) }
        return try await answer(of: fill, fetcher, isCollapsed: false)
    }

    /// What a fill comes to, as this caller's answer; where it is not for this caller, another
    /// fetch's.
    func answer(of fill: Fill, _ fetcher: Fetcher, isCollapsed: Bool) async throws -> CacheResponse {
        let answer: Fill.Answer
        do {
            if machine.originIsSlow() != nil, let limit = prepared.softTimeout(engine.options) {
                guard let early = try await self.answer(of: fill, isLeader: !isCollapsed, within: limit) else {
                    if let response = await standIn({ $0.originIsSlow() }) { return response }
                    return try await fetchAlone(fetcher.unconditional)
                }
                answer = early
            } else {
                answer = try await fill.answer(isLeader: !isCollapsed)
            }
        } catch {
            try Task.checkCancellation()
            // Cancelled by others before this caller joined: that is not this caller's end.
            if error is CancellationError, isCollapsed { return try await fetchAlone(fetcher) }
            if error is CancellationError { throw ExchangeError.shutDown(request) }
            return try await originFailed(error)
        }
        var outcome = CacheOutcome(forward: fetcher.fetch.reason, isCollapsed: isCollapsed)
        switch answer {
        case .shared(let head, let response, let reader, let notStored):
            if isCollapsed,
                !policy.matchesVariant(head, selecting) || !policy.mayServeCollapsed(head)
            {
                return try await fetchAlone(fetcher)
            }
            outcome.isStored = notStored == nil && !isCollapsed
            outcome.notStored = notStored
            if isCollapsed { inform(of: fill) }
            return isCollapsed
                ? collapsed(response, reader.stream, head, outcome)
                : network(response, reader.stream, head, outcome)
        case .exclusive(let response, let responseTime, let notStored):
            outcome.notStored = notStored
            if let stale = await staleOnError(response.head.status) { return stale }
            return exclusive(response, responseTime, outcome)
        case .released(let status):
            if let stale = await staleOnError(status) { return stale }
            return try await fetchAlone(fetcher)
        case .validated(let stored):
            guard !isCollapsed || policy.matchesVariant(stored.head, selecting) else {
                return try await fetchAlone(fetcher)
            }
            let freshness = policy.freshness(of: stored.head, at: stored.head.responseTime)
            outcome.forwardStatus = 304
            outcome.timeToLive = freshness.secondsToLive
            let serve = ExchangeMachine.Serve(stored: stored, freshness: freshness, outcome: outcome)
            if let response = await self.serve(serve, isValidated: true) {
                if isCollapsed { inform(of: fill) }
                return response
            }
            return try await fetchAlone(fetcher.unconditional)
        case .refused:
            if let response = await standIn({ $0.originLooksWrong() }) { return response }
            // Nothing can stand in (its body is gone, say): once more, and then the answer is this
            // caller's whatever it looks like.
            var again = fetcher.unconditional
            again.fetch.mayStandIn = false
            return try await fetchAlone(again)
        }
    }

    /// Passes on what came before a final response that this caller shares.
    private func inform(of fill: Fill) {
        guard let inform = request.onInformational else { return }
        for interim in fill.interims { inform(interim) }
    }

    /// Waits for a fill's head for a limited time; `nil` when that is over. The fill goes on
    /// without this caller then.
    private func answer(of fill: Fill, isLeader: Bool, within limit: Duration) async throws -> Fill.Answer? {
        let sleeper = engine.sleeper
        return try await withThrowingTaskGroup(of: Fill.Answer?.self) { group in
            group.addTask { try await fill.answer(isLeader: isLeader) }
            group.addTask {
                try await sleeper.sleep(for: limit)
                return nil
            }
            if let early = try await group.next() ?? nil {
                group.cancelAll()
                return early
            }
            fill.keepGoing()
            group.cancelAll()
            // The head may have come in the very moment: then it is the answer, and nobody else's.
            return try? await group.next() ?? nil
        }
    }

    /// What is for this caller and nobody else, as it came.
    func exclusive(_ response: TransportResponse, _ responseTime: Timestamp, _ outcome: CacheOutcome) -> CacheResponse {
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
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: outcome
        )
    }

    /// What another caller's request brought, as from store: with its age, and without the fields
    /// that are for that caller alone. RFC 9111 §4
    private func collapsed(
        _ response: HTTPResponse,
        _ body: BodyStream,
        _ head: StoredResponseHead,
        _ outcome: CacheOutcome
    ) -> CacheResponse {
        // It may have come long after this caller did.
        let freshness = policy.freshness(of: head, at: max(now, head.responseTime))
        var shared = response
        shared.headerFields = policy.servedFields(of: head, age: freshness.age)
        shared.headerFields[.contentLength] = response.headerFields[.contentLength]
        var answer = network(shared, body, head, outcome)
        // Whoever waited for the head has what is new; whoever came later has what was there.
        if head.responseTime < now {
            answer.isStale = !freshness.isFresh
            answer.outcome.timeToLive = freshness.secondsToLive
        }
        return answer
    }

    private func staleOnError(_ status: HTTPResponse.Status) async -> CacheResponse? {
        // Asked of every answer; nearly all are none of these.
        guard status.isServerFailure else { return nil }
        return await standIn { $0.originAnswered(status: status) }
    }

    /// Serves what is stored in the origin's place. It may have been replaced since it was looked
    /// up: then what replaced it.
    private func standIn(_ choose: (ExchangeMachine) -> ExchangeMachine.Serve?) async -> CacheResponse? {
        guard let serve = choose(machine) else { return nil }
        if let response = await self.serve(serve) { return response }
        var machine = machine
        machine.advance(to: engine.clock.now())
        _ = machine.lookedUp(await lookup().found)
        guard let again = choose(machine) else { return nil }
        return await self.serve(again)
    }

    private func originFailed(_ error: any Error) async throws -> CacheResponse {
        if let response = await standIn({ if case .serve(let serve) = $0.originFailed(error) { serve } else { nil } }) {
            return response
        }
        switch machine.originFailed(error) {
        case .refuse(let refusal): throw refusal
        case .serve:
            throw ExchangeError.bodyGone(error)
        case .fetch: throw error
        }
    }
}

extension CacheRequest {
    /// Whether it can be sent again without its caller: it changes nothing, and its content is in
    /// memory.
    var isReplayable: Bool {
        if case .stream = body { return false }
        return head.method.isSafe || isContentKeyed
    }

    /// Whether another caller's fetch can be this one's: nothing in the request asks for a part, or
    /// for a 304 of its own.
    var isCollapsible: Bool {
        guard head.method != .head, !ignoresStored else { return false }
        let fields = head.headerFields
        // In one pass, and by place: a loop over the fields themselves copies each.
        return !fields.indices.contains { fields[$0].name.asksForPartOrNothing }
    }
}

extension HTTPField.Name {
    /// It makes a request one for a part, or for a 304. RFC 9110 §13.1, §14.2
    fileprivate var asksForPartOrNothing: Bool {
        // By length first: this is asked of every field of every request.
        switch canonicalName.utf8.count {
        case 5: canonicalName == "range"
        case 8: canonicalName == "if-range" || canonicalName == "if-match"
        case 13: canonicalName == "if-none-match"
        case 17: canonicalName == "if-modified-since"
        case 19: canonicalName == "if-unmodified-since"
        default: false
        }
    }
}
