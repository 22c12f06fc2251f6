package import HTTPCacheSemantics
package import HTTPTypes
import Logging
import NIOCore
import Tracing

/// The short way: hits on what is in memory, without suspending.
extension CacheEngine {
    /// Answers a request from memory, where a fresh stored response is there; `nil` for everything
    /// else, which is ``respond(to:)``'s.
    ///
    /// It takes what locks there are for moments and never waits for anybody, so an event loop may
    /// call it. Requests with content are not answered here.
    package func residentHit(for prepared: PreparedRequest) -> ResidentHit? {
        if case .hit(let hit) = residentSearch(for: prepared) { hit } else { nil }
    }

    /// The same, and where memory does not know, the lookup in the store that would tell;
    /// ``storedHit(for:_:)`` takes what it finds.
    package func residentSearch(for prepared: PreparedRequest) -> ResidentSearch {
        guard mayAnswerAtOnce(prepared), let key = prepared.key else { return .none }
        let start = lookupStart(key)
        guard let found = residentResponses(prepared) else {
            // A part of a body is opened for its own sake.
            guard let disk = blockingStore, !prepared.request.head.headerFields.contains(.range) else {
                return .none
            }
            return .unknown(StoredLookup(prepared: prepared, store: disk, start: start))
        }
        guard !found.isNothing else { return .nothing(start) }
        guard var exchange = exchangeAtOnce(prepared), let hit = exchange.hit(found, start.fence) else { return .none }
        return .hit(recorded(hit, prepared))
    }

    /// Answers a request with what a lookup has just found, where that is fresh and came with its
    /// body; as ``residentHit(for:)`` else.
    package func storedHit(for prepared: PreparedRequest, _ found: FoundResponses) -> ResidentHit? {
        guard mayAnswerAtOnce(prepared), var exchange = exchangeAtOnce(prepared),
            let hit = exchange.hit(found, nil)
        else { return nil }
        return recorded(hit, prepared)
    }

    /// To be called before a lookup.
    package func lookupStart(_ key: CacheKey) -> LookupStart {
        LookupStart(endedFills: fills.endedCount(key), fence: store.invalidationSequence)
    }

    func mayAnswerAtOnce(_ prepared: PreparedRequest) -> Bool {
        prepared.request.body == nil && !prepared.request.ignoresStored && !options.usesNoVarySearch && !fills.isClosed
    }

    private func exchangeAtOnce(_ prepared: PreparedRequest) -> Exchange? {
        prepared.key.map { Exchange(engine: self, prepared: prepared, key: $0, now: clock.now()) }
    }

    /// All that is stored under the request's keys, where memory knows.
    private func residentResponses(_ prepared: PreparedRequest) -> FoundResponses? {
        prepared.found { store.resident($0) }
    }

    private func recorded(_ hit: ResidentHit, _ prepared: PreparedRequest) -> ResidentHit {
        record(hit.response.head.status.code, prepared.method) { hit.response.outcome.cacheStatus() }
        return hit
    }

    /// Answers a request from what is stored, by its preference and however stale, where nothing
    /// has to be waited for or done afterwards; `nil` for everything else, which is
    /// ``respond(to:)``'s.
    ///
    /// It runs where it is called, and takes some microseconds.
    ///
    /// - Parameters:
    ///   - mayRead: whether it may read from the store's disk where memory does not know, for as
    ///     long as that is quick (``ReadingPace``).
    ///   - take: makes of the answer what the caller wants. Where it makes nothing of it, there was
    ///     no answer, and none is counted.
    package func answerAtOnce<Value>(
        to request: CacheRequest,
        mayRead: Bool,
        _ take: (CacheResponse) throws -> Value?
    ) rethrows -> Value? {
        guard request.body == nil, !request.ignoresStored, !options.usesNoVarySearch, !fills.isClosed,
            request.head.method == .get, request.isCollapsible, let prepared = prepare(request), let key = prepared.key,
            let found = residentResponses(prepared) ?? (mayRead ? readResponses(prepared) : nil)
        else { return nil }
        var exchange = Exchange(engine: self, prepared: prepared, key: key, now: clock.now())
        guard let response = exchange.answer(from: found), let value = try take(response) else { return nil }
        metrics.record(response)
        tell(response.head.status.code, request.head.method) { response.outcome.cacheStatus() }
        return value
    }

    /// All that is stored under the request's keys, read where it is called; `nil` also where
    /// reading takes long these days.
    private func readResponses(_ prepared: PreparedRequest) -> FoundResponses? {
        guard let disk = blockingStore else { return nil }
        return readingPace.read { prepared.found { try? disk.lookupInPlace($0) } }
    }

    /// Whether a hit's conditions hold at an instant. If so, that is an exchange that ended in this
    /// hit, and it is recorded as one.
    ///
    /// - Returns: the present age in milliseconds, RFC 9111 §4.2.3; `nil` where they do not hold.
    package func hitAgain(_ hit: ResidentHit.Conditions, status: Int, method: HTTPRequest.Method, at now: Timestamp)
        -> Int64?
    {
        guard hit.settings == settingsVersion, let age = hit.age(at: now), hit.hold(in: store) else { return nil }
        record(status, method) {
            CacheOutcome(isHit: true, timeToLive: (hit.lifetime - age) / 1000).cacheStatus()
        }
        return age
    }

    /// The present instant, by the engine's clock.
    package var now: Timestamp { clock.now() }

    private func record(_ status: Int, _ method: HTTPRequest.Method, _ cacheStatus: () -> String) {
        metrics.recordHit()
        tell(status, method, cacheStatus)
    }

    /// An origin's answer to a GET for which nothing is stored was passed on as it came.
    func recordRelayed(_ status: HTTPResponse.Status) {
        metrics.recordFetched()
        tell(status.code, .get) { CacheOutcome.uriMiss.cacheStatus() }
    }

    private func tell(_ status: Int, _ method: HTTPRequest.Method, _ cacheStatus: () -> String) {
        if isTraced {
            withSpan("cache exchange") { span in
                span.attributes["http.request.method"] = method.rawValue
                guard span.isRecording else { return }
                span.attributes["http.response.status_code"] = status
                span.attributes["cache.status"] = cacheStatus()
            }
        }
        guard logger.logLevel <= .debug else { return }
        logger.debug(
            "Exchange ended",
            metadata: [
                "http.method": "\(method)", "http.status": "\(status)", "cache.status": "\(cacheStatus())",
            ]
        )
    }
}

extension Exchange {
    /// See ``CacheEngine/residentSearch(for:)``.
    ///
    /// - Parameters:
    ///   - found: all that is stored under the request's keys.
    ///   - sequence: as it was before the lookup; `nil` where memory need not have all that was
    ///     found.
    fileprivate mutating func hit(_ found: FoundResponses, _ sequence: InvalidationSequence?) -> ResidentHit? {
        guard let serve = choice(of: found), serve.outcome.isHit, serve.outcome.detail == nil,
            serve.liftedDirective == nil, serve.freshness.isFresh, !serve.stored.head.isInvalidated
        else { return nil }
        let (head, selection) = head(for: serve)
        var content = ByteBuffer()
        switch selection {
        case nil: break
        case .complete:
            if request.head.method != .head {
                guard let body = serve.stored.content?.body else { return nil }
                content = body
            }
        case .range, .ranges, .unsatisfiable, .missing: return nil
        }
        var response = response(
            serve,
            head,
            selection == nil || request.head.method == .head ? .empty : BodyStream(content)
        )
        prepared.rules?.edit(&response)
        return ResidentHit(
            response: response,
            content: content,
            conditions: sequence.flatMap { conditions(serve, found, $0) }
        )
    }

    /// See ``CacheEngine/answerAtOnce(to:mayRead:_:)``.
    fileprivate mutating func answer(from found: FoundResponses) -> CacheResponse? {
        guard let serve = choice(of: found) else { return nil }
        let (head, selection) = head(for: serve)
        guard case .complete? = selection, let body = serve.stored.content?.body else { return nil }
        var response = response(serve, head, BodyStream(body))
        prepared.rules?.edit(&response)
        return response
    }

    /// The stored response that answers without anything to be done after it.
    private mutating func choice(of found: FoundResponses) -> ExchangeMachine.Serve? {
        let candidates = found.shared.map { found.own.responses + forPrincipal($0.responses) } ?? found.own.responses
        guard !candidates.isEmpty, case .serve(let serve) = machine.lookedUp(candidates), !serve.isToBeRefreshed else {
            return nil
        }
        return serve
    }

    /// What the hit rests on; `nil` where the request, a rule or a caller makes it depend on time
    /// in a way of its own.
    private func conditions(
        _ serve: ExchangeMachine.Serve,
        _ found: FoundResponses,
        _ sequence: InvalidationSequence
    ) -> ResidentHit.Conditions? {
        let fields = request.head.headerFields
        let (stored, freshness) = (serve.stored, serve.freshness)
        guard !fields.contains(.cacheControl), !fields.contains(where: { $0.name.canonicalName == "pragma" }),
            !request.hasRareParts,
            stored.head.explicitExpiry == nil, freshness.lifetime.milliseconds <= ResidentHit.Conditions.lifetimeLimit,
            prepared.settings(for: stored.head.fields)?.responseFields.mayTouchTime != true
        else { return nil }
        return ResidentHit.Conditions(
            found: found,
            sequence: sequence,
            settings: prepared.settingsVersion,
            since: now,
            responseTime: stored.head.responseTime,
            initialAge: freshness.age.correctedInitialAge,
            ageLimit: machine.changingAge(stored, freshness),
            lifetime: freshness.lifetime.milliseconds
        )
    }
}

extension FieldEdits {
    /// Whether they change a field that says how old the answer is.
    fileprivate var mayTouchTime: Bool {
        [HTTPField.Name.age, .date].contains { removed.contains($0) || set.contains($0) }
    }
}
