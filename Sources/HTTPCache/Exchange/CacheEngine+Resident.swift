package import HTTPCacheSemantics
package import HTTPTypes
import Logging
import NIOCore
import Tracing

/// The short way: hits on what is in memory, without suspending.
extension CacheEngine {
    /// Answers a request from memory, where a fresh stored response is there; `nil` for everything else, which is ``respond(to:)``'s.
    ///
    /// It takes what locks there are for moments and never waits for anybody, so an event loop may call it. Requests with content are not answered here.
    package func residentHit(for prepared: PreparedRequest) -> ResidentHit? {
        let request = prepared.request
        guard let key = prepared.key, request.body == nil, !request.ignoresStored, !options.usesNoVarySearch,
            !fills.isClosed
        else { return nil }
        var exchange = Exchange(engine: self, prepared: prepared, key: key, now: clock.now())
        guard let hit = exchange.resident() else { return nil }
        record(hit.response.head.status.code, request.head.method) { hit.response.outcome.cacheStatus() }
        return hit
    }

    /// Answers a request from memory, by its preference and however stale, where nothing has to be waited for or done afterwards; `nil` for everything else, which is
    /// ``respond(to:)``'s.
    ///
    /// It runs where it is called, and takes some microseconds.
    package func respondAtOnce(to request: CacheRequest) -> CacheResponse? {
        guard request.body == nil, !request.ignoresStored, !options.usesNoVarySearch, !fills.isClosed,
            let prepared = prepare(request), let key = prepared.key
        else { return nil }
        var exchange = Exchange(engine: self, prepared: prepared, key: key, now: clock.now())
        guard let response = exchange.residentAnswer() else { return nil }
        metrics.record(response)
        tell(response.head.status.code, request.head.method) { response.outcome.cacheStatus() }
        return response
    }

    /// Whether a hit's conditions hold at an instant. If so, that is an exchange that ended in this hit, and it is recorded as one.
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
    /// See ``CacheEngine/residentHit(for:)``.
    fileprivate mutating func resident() -> ResidentHit? {
        // Before the lookup, so that what happens after it is noticed.
        let sequence = engine.store.invalidationSequence
        guard let (serve, found) = residentChoice(), serve.outcome.isHit, serve.outcome.detail == nil,
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
            conditions: conditions(serve, found, sequence)
        )
    }

    /// See ``CacheEngine/respondAtOnce(to:)``.
    fileprivate mutating func residentAnswer() -> CacheResponse? {
        guard request.head.method == .get, request.isCollapsible, let (serve, _) = residentChoice() else { return nil }
        let (head, selection) = head(for: serve)
        guard case .complete? = selection, let body = serve.stored.content?.body else { return nil }
        var response = response(serve, head, BodyStream(body))
        prepared.rules?.edit(&response)
        return response
    }

    /// The stored response that answers without anything to be done after it, and all that memory holds of its keys.
    private mutating func residentChoice() -> (
        serve: ExchangeMachine.Serve, found: [(key: CacheKey, responses: [StoredResponse])]
    )? {
        var found: [(key: CacheKey, responses: [StoredResponse])] = []
        for key in prepared.lookupKeys {
            guard let responses = engine.store.resident(key) else { return nil }
            found.append((key, responses))
        }
        let candidates =
            found.count == 1
            ? found[0].responses : found.flatMap { $0.key == key ? $0.responses : forPrincipal($0.responses) }
        guard !candidates.isEmpty, case .serve(let serve) = machine.lookedUp(candidates), !serve.isToBeRefreshed else {
            return nil
        }
        return (serve, found)
    }

    /// What the hit rests on; `nil` where the request, a rule or a caller makes it depend on time in a way of its own.
    private func conditions(
        _ serve: ExchangeMachine.Serve,
        _ found: [(key: CacheKey, responses: [StoredResponse])],
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
