import HTTPCacheSemantics
import HTTPTypes

/// One caller's way through store and network: performs what ``ExchangeMachine`` decides.
struct Exchange {
    let engine: CacheEngine
    let request: CacheRequest
    let key: CacheKey
    let now: Timestamp
    private let selecting: HTTPRequest
    private var machine: ExchangeMachine

    init(engine: CacheEngine, request: CacheRequest, key: CacheKey, mode: OfflineMode, now: Timestamp) {
        self.engine = engine
        self.request = request
        self.key = key
        self.now = now
        self.selecting = engine.partitions.selecting(request.head)
        self.machine = ExchangeMachine(
            request: request,
            selecting: selecting,
            mode: mode,
            policy: engine.policy,
            now: now
        )
    }

    /// Lookups of one exchange before it stops waiting for other fills' results and asks the origin.
    private static let lookupLimit = 4

    mutating func run() async throws -> CacheResponse {
        var lookups = 0
        while true {
            // Both are read before the lookup, so that what happens after it is noticed.
            let seen = engine.fills.endedCount(key)
            let fence = engine.store.invalidationSequence
            var candidates = await lookup()
            lookups += 1
            let hasStoredSuccess = candidates.contains {
                $0.head.status.code < 400 && engine.policy.matchesVariant($0.head, selecting)
            }
            if request.ignoresStored { candidates = [] }
            var action = machine.lookedUp(candidates)
            while case .serve(let serve) = action {
                if let response = await self.serve(serve) { return response }
                action = machine.bodyGone(serve.stored, among: candidates)
                candidates.removeAll { $0.id == serve.stored.id }
            }
            switch action {
            case .serve: continue
            case .refuse(let error): throw error
            case .fetch(let fetch):
                let fetcher = Fetcher(
                    engine: engine,
                    request: request,
                    selecting: selecting,
                    key: key,
                    fetch: fetch,
                    fence: fence,
                    hasStoredSuccess: hasStoredSuccess
                )
                if let response = try await self.fetch(with: fetcher, seen: lookups < Self.lookupLimit ? seen : nil) {
                    return response
                }
            }
        }
    }

    /// The principal's stored responses, then the shared ones. Never throws: a store that fails is a store that has nothing.
    private func lookup() async -> [StoredResponse] {
        let shared = key.inPartition(.shared)
        if shared == key { return await lookup(key) }
        return await lookup(key) + lookup(shared)
    }

    private func lookup(_ key: CacheKey) async -> [StoredResponse] {
        if let resident = engine.store.resident(key) { return resident }
        return await engine.recovering("lookup") { try await engine.store.lookup(key) } ?? []
    }

    // MARK: Serving from the store

    /// - Returns: `nil` when the body is gone.
    private func serve(_ serve: ExchangeMachine.Serve, isValidated: Bool = false) async -> CacheResponse? {
        let policy = engine.policy
        var head = HTTPResponse(
            status: serve.stored.head.status,
            headerFields: policy.servedFields(of: serve.stored.head, age: serve.freshness.age)
        )
        var body = BodyStream.empty
        if policy.isConditional(request.head), policy.isNotModified(serve.stored.head, for: request.head) {
            head.status = .notModified
            head.headerFields[.contentLength] = nil
        } else if request.head.method != .head {
            guard
                let opened = await engine.recovering(
                    "openBody",
                    { try await engine.store.openBody(of: serve.stored) }
                ),
                let stream = opened
            else { return nil }
            body = stream
        }
        return CacheResponse(
            head: head,
            body: body,
            source: isValidated ? .network : .store,
            age: serve.freshness.age.milliseconds,
            isStale: !isValidated && (!serve.freshness.isFresh || serve.stored.head.isInvalidated),
            isValidated: isValidated,
            stored: serve.stored,
            outcome: serve.outcome
        )
    }

    // MARK: Fetching

    /// - Returns: `nil` when the store should be looked up again.
    private func fetch(with fetcher: Fetcher, seen: UInt32?) async throws -> CacheResponse? {
        guard request.isCollapsible else { return try await fetchAlone(fetcher) }
        switch engine.fills.admit(key, seen: seen, fence: fetcher.fence) {
        case .lookAgain: return nil
        case .closed: throw ExchangeError.shutDown(request.head)
        case .lead(let fill):
            fill.start { await fetcher.run($0) }
            return try await answer(of: fill, fetcher, isCollapsed: false)
        case .joined(let fill):
            return try await answer(of: fill, fetcher, isCollapsed: true)
        }
    }

    private func fetchAlone(_ fetcher: Fetcher) async throws -> CacheResponse {
        guard let fill = engine.fills.admitAlone(key, fence: fetcher.fence) else {
            throw ExchangeError.shutDown(request.head)
        }
        fill.start { await fetcher.run($0) }
        return try await answer(of: fill, fetcher, isCollapsed: false)
    }

    private func answer(of fill: Fill, _ fetcher: Fetcher, isCollapsed: Bool) async throws -> CacheResponse {
        let answer: Fill.Answer
        do {
            answer = try await fill.answer(isLeader: !isCollapsed)
        } catch {
            try Task.checkCancellation()
            // Cancelled by others before this caller joined: that is not this caller's end.
            if error is CancellationError, isCollapsed { return try await fetchAlone(fetcher) }
            if error is CancellationError { throw ExchangeError.shutDown(request.head) }
            return try await originFailed(error)
        }
        var outcome = CacheOutcome(forward: fetcher.fetch.reason, isCollapsed: isCollapsed)
        switch answer {
        case .shared(let head, let response, let reader, let isStoring):
            if isCollapsed, !engine.policy.matchesVariant(head, selecting) { return try await fetchAlone(fetcher) }
            outcome.isStored = isStoring && !isCollapsed
            return network(response, reader.stream, head, outcome)
        case .exclusive(let response, let responseTime):
            if let stale = await staleOnError(response.head.status) { return stale }
            let head = StoredResponseHead(
                status: response.head.status,
                fields: response.head.headerFields,
                requestTime: now,
                responseTime: responseTime
            )
            return network(response.head, response.body, head, outcome)
        case .released(let status):
            if let stale = await staleOnError(status) { return stale }
            return try await fetchAlone(fetcher)
        case .validated(let stored):
            guard !isCollapsed || engine.policy.matchesVariant(stored.head, selecting) else {
                return try await fetchAlone(fetcher)
            }
            let freshness = engine.policy.freshness(of: stored.head, at: stored.head.responseTime)
            outcome.forwardStatus = 304
            outcome.timeToLive = freshness.secondsToLive
            let serve = ExchangeMachine.Serve(stored: stored, freshness: freshness, outcome: outcome)
            if let response = await self.serve(serve, isValidated: true) { return response }
            // Its body went while it was validated: once more, for the whole response.
            return try await fetchAlone(fetcher.unconditional)
        }
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
            age: engine.policy.currentAge(of: head, at: head.responseTime).milliseconds,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: outcome
        )
    }

    private func staleOnError(_ status: HTTPResponse.Status) async -> CacheResponse? {
        guard let serve = machine.originAnswered(status: status) else { return nil }
        return await self.serve(serve)
    }

    private func originFailed(_ error: any Error) async throws -> CacheResponse {
        switch machine.originFailed(error) {
        case .serve(let serve):
            if let response = await self.serve(serve) { return response }
            throw ExchangeError(
                code: .originUnreachable,
                message: "\(error)",
                status: 504,
                outcome: CacheOutcome(forward: .uriMiss, detail: .offline),
                cause: error
            )
        case .refuse(let refusal): throw refusal
        case .fetch: throw error
        }
    }
}

extension CacheRequest {
    /// Whether another caller's fetch can be this one's: nothing in the request asks for a part, or for a 304 of its own.
    var isCollapsible: Bool {
        guard head.method != .head, !ignoresStored else { return false }
        let fields = head.headerFields
        return !fields.contains(.range) && !fields.contains(.ifNoneMatch) && !fields.contains(.ifModifiedSince)
            && !fields.contains(.ifMatch) && !fields.contains(.ifUnmodifiedSince) && !fields.contains(.ifRange)
    }
}
