import HTTPCacheSemantics
import HTTPTypes

/// Runs one in-flight fetch: sends the request, lets ``FetchDecision`` decide about the head, and
/// performs the decision.
///
/// An extension performs each part of a decision: freshening a stored response, combining a part
/// with stored bytes, storing and sharing a body, checking content, and sharing with other nodes.
struct Fetcher: Sendable {
    let engine: CacheEngine
    /// The origin that counts the request, from its start to its end. A reload may change the
    /// target's origin in between.
    let origin: Origin
    let prepared: PreparedRequest
    let key: StoreKey
    let plan: FetchPlan
    /// Makes other nodes wait for this fetch.
    var lease: HeldLease?

    var storedSuccess: StoredResponse? { plan.known.success }
    var request: CacheRequest { prepared.request }

    /// A fetcher for the same request without the cache's validators.
    var unconditional: Fetcher {
        Fetcher(
            engine: engine,
            origin: origin,
            prepared: prepared,
            key: key,
            plan: plan.unconditional(request.head),
            lease: lease
        )
    }

    /// The progress of a fetch when a task takes it over.
    enum Beginning {
        case nothing
        /// The request counts among the origin's requests in progress.
        case entered
        /// The request counts as in progress, and its response has arrived and was judged.
        case judged(Judgement)
        /// The request counts as in progress, and sending it failed.
        case failed(any Error)
    }

    /// An origin's response, and the decision about it.
    struct Judgement {
        let response: TransportResponse
        let responseTime: Timestamp
        let context: FetchContext
        let decision: FetchDecision
    }

    func run(_ inFlight: InFlightFetch, from beginning: Beginning = .nothing) async {
        let origin = origin
        do {
            if case .nothing = beginning {
                try await engine.enter(origin, request.client, within: prepared.hardTimeout(engine.options))
            }
            // The next waiting request may be served from what this fetch stores, so return the
            // permit only when everything is stored.
            defer { engine.origins.leave(origin, request.client) }
            switch beginning {
            case .nothing, .entered: try await fetch(inFlight, origin)
            case .judged(let judgement): try await perform(judgement, inFlight, origin)
            case .failed(let error): throw recordFailure(error, inFlight)
            }
        } catch let overload as OriginRegistry.Overload {
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.failed(ExchangeError.overloaded(request, overload, engine.options)))
        } catch {
            engine.inFlightFetches.detach(inFlight, key)
            let isCallers = inFlight.isCancelled && !error.isSilence && !error.isOverload
            inFlight.publish(.failed(isCallers ? CancellationError() : error))
        }
        engine.inFlightFetches.end(inFlight, key)
    }

    func fetch(_ inFlight: InFlightFetch, _ origin: Origin) async throws {
        let requestTime = engine.clock.now()
        let fencingPosition = engine.finder?.responses.position
        let response: TransportResponse
        do {
            response = try await engine.send(
                inFlight.sending(prepared.sending(plan.fetch.request), for: request),
                to: origin,
                for: prepared,
                isProbed: request.isReplayable,
                by: inFlight
            )
        } catch {
            throw recordFailure(error, inFlight)
        }
        try await perform(judge(response, requestedAt: requestTime, fencingPosition: fencingPosition), inFlight, origin)
    }

    /// Records an error that means that the origin was unreachable. Returns the error.
    private func recordFailure(_ error: any Error, _ inFlight: InFlightFetch) -> any Error {
        // A drain ends at once, so it is not remembered.
        if let code = (error as? TransportError)?.code, code.isUnreachable, code != .drained,
            !inFlight.isCancelled || error.isSilence
        {
            engine.throttle.note(.unreachable, key, at: engine.clock.now())
        }
        return error
    }

    /// Decides about a response that has arrived.
    ///
    /// - Parameter fencingPosition: the position up to which the fleet log was applied before the
    ///   request; `nil` if the response is not offered to other nodes.
    func judge(
        _ response: TransportResponse,
        requestedAt requestTime: Timestamp,
        fencingPosition: LogPosition? = nil
    ) -> Judgement {
        let responseTime = engine.clock.now()
        engine.throttle.note(response.head.status, key, at: responseTime)
        var context = FetchContext(prepared, key: key, plan, requestTime: requestTime, options: engine.options)
        context.fencingPosition = fencingPosition
        let decision = context.decide(response, at: responseTime)
        return Judgement(response: response, responseTime: responseTime, context: context, decision: decision)
    }

    /// Performs the decision.
    private func perform(_ judgement: Judgement, _ inFlight: InFlightFetch, _ origin: Origin) async throws {
        let (response, context, responseTime) = (judgement.response, judgement.context, judgement.responseTime)
        switch judgement.decision {
        case .freshen(let stored, let head):
            // An older response must not replace the response that this 304 validates.
            _ = engine.inFlightFetches.claimStoring(inFlight, key, head)
            engine.noteShared(key)
            let current = await freshen(stored, head, context, response.boundary)
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.validated(current, isForAll: true))
        case .confirm(var stored, let head):
            stored.head = head
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.validated(stored, isForAll: false))
        case .askAgain:
            try await unconditional.fetch(inFlight, origin)
        case .passThrough(let refusal):
            if !refusal.isOfThisMoment { keepFromOthers() }
            engine.noteUnshared(refusal, response.head.status, key, at: responseTime)
            if request.head.method == .head { await update(with: response, context, responseTime) }
            await invalidatePart(after: response, context)
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.unshared(response, responseTime: responseTime, notStored: refusal))
        case .refuse(let stored):
            engine.inFlightFetches.detach(inFlight, key)
            inFlight.publish(.refused(stored))
        case .store(let draft):
            var storing = await writer(for: draft, uses: inFlight.memberCount)
            storing.offered = (draft, context.fencingPosition)
            storing.length = response.head.partLength ?? draft.expectedLength
            await store(response, draft.head, storing, inFlight)
        case .complete(let stored, let combined, let draft):
            await complete(stored, combined, with: response, draft, inFlight)
        case .combine(let stored, let combined, let draft):
            await combine(stored, combined, with: response, draft, context, inFlight)
        }
    }
}
