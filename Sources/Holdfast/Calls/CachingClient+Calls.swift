import HTTPCache
import HTTPTypes

extension CachingClient {
    /// The stored value; `nil` where there is none that can be used as this type.
    func stored<Value: Sendable>(_ call: Call<Value>, _ prepared: PreparedCall) async throws -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = .storedOnly
        if let known = answeredAtOnce(call, prepared.reading, request, mayRead: mayRead(for: call)) { return known }
        return try await read(call, prepared, request)
    }

    /// Whether a call may read from a disk and decode where it is made: by a task that keeps nobody
    /// else waiting, neither an actor nor an executor of somebody's (an event loop, say), and
    /// without a time limit, which could not be kept.
    func mayRead(for call: Call<some Sendable>, isolation: isolated (any Actor)? = #isolation) -> Bool {
        isolation == nil && !call.isLimited && withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
    }

    /// What a call gets from the store where it is made, so that no other thread is woken for it:
    /// the value that was made before of what is in memory, or where it may read, any that is
    /// stored.
    private func answeredAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ reading: ContentReading,
        _ request: CacheRequest,
        mayRead: Bool
    ) -> Delivery<Value>? {
        let recall = reading.isRecalling ? call.recall : nil
        guard mayRead || recall != nil else { return nil }
        // What fails is done again where errors are told, and other sources asked.
        return try? engine.answerAtOnce(to: request, mayRead: mayRead) { response in
            if let recall, let known = reading.recalled(response, recall) { return known }
            return mayRead ? try reading.readAtOnce(response, call.interpret) : nil
        }
    }

    /// A call that may be answered where it is made: no plugin prepares it, and its strategy takes
    /// what is stored. `nil` also where something is wrong with its request.
    private func preparedAtOnce(
        _ call: Call<some Sendable>,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> PreparedCall? {
        guard call.usesStore, mayRead || call.recall != nil, strategy.isServedStored, strategy.softTimeout == nil,
            plugins.preparing.isEmpty, call.options.plugins.isEmpty
        else { return nil }
        return try? prepareAtOnce(call, for: .network)
    }

    /// What its strategy would answer with, where nothing has to be waited for.
    private func answeredAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = strategy.preference
        return answeredAtOnce(call, prepared.reading, request, mayRead: mayRead)
    }

    /// The stored value, read and decoded.
    @concurrent
    private func read<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ request: CacheRequest
    ) async throws -> Delivery<Value>? {
        do {
            return try await prepared.reading.read(try await engine.respond(to: request), call.interpret)
        } catch let error as ExchangeError where error.code == .offlineMiss || error.code == .staleForbidden {
            noteForbidden(error, call.endpoint)
            return nil
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: prepared.target)
            switch error.code {
            case .closed, .cancelled: throw error
            case .status, .authenticationFailed, .outdated: return nil
            default:
                // A miss for this type, and worth knowing; the stored bytes stay for the type that
                // can read them.
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return nil
            }
        }
    }

    /// A value by a strategy; falls back to the store also where the network's answer broke off in
    /// its body.
    func deliver<Value: Sendable>(_ call: Call<Value>, _ strategy: SingleValueStrategy) async throws -> Delivery<Value>
    {
        try Task.checkCancellation()
        var call = call
        // Here, because the call may be prepared twice and is one.
        call.number = call.number ?? nextNumber()
        let mayRead = mayRead(for: call)
        var prepared = preparedAtOnce(call, strategy, mayRead: mayRead)
        if let prepared, let known = answeredAtOnce(call, prepared, strategy, mayRead: mayRead) { return known }
        // From here on no caller's actor is kept busy for longer than it takes to send a request,
        // and none is gone back to before there is a value.
        let lane = lane(for: call)
        call.lane = lane
        prepared?.request.place = .own(lane)
        do {
            return try await withTaskExecutorPreference(lane) { [call, prepared] in
                try await within(call.options.timeout ?? call.endpoint.timeout, of: call) {
                    try await self.deliverUnlimited(call, prepared, strategy)
                }
            }
        } catch {
            return try await substitute(for: error, in: call)
        }
    }

    /// A call begins on its caller's thread where all that is done before it waits is the library's
    /// own, and short; and where it is the call's own task that comes to the lane first.
    private func lane(for call: Call<some Sendable>) -> CallLane {
        let isShort = plugins.isEmpty && call.options.plugins.isEmpty && call.endpoint.task.isWithoutContent
        return CallLane(startsHere: isShort && !call.isLimited)
    }

    /// - Parameter prepared: what was made of it already.
    @concurrent
    private func deliverUnlimited<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall?,
        _ strategy: SingleValueStrategy
    ) async throws -> Delivery<Value> {
        if let prepared { return try await deliver(call, prepared, strategy.preference) }
        var call = call
        call.softTimeout = strategy.softTimeout
        let isReady = plugins.and(call.options.plugins).preparing.allSatisfy { $0.isReady }
        if !isReady, let stored = try await storedAtOnce(call, strategy.preference) { return stored }
        let prepared: PreparedCall
        do {
            prepared = try await prepare(call, for: .network, isReady ? nil : strategy.softTimeout)
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(preparing: error, for: call.endpoint)
            if let stored = try await stored(call, insteadOf: error, strategy.preference) { return stored }
            // The time is limited only where something is stored.
            guard error.code == .timeout, strategy.softTimeout != nil else { throw error }
            return try await deliver(call, try await prepare(call, for: .network), strategy.preference)
        }
        return try await deliver(call, prepared, strategy.preference)
    }

    private func prepare<Value: Sendable>(
        _ call: Call<Value>,
        for purpose: CallInfo.Purpose,
        _ limit: Duration?
    ) async throws -> PreparedCall {
        guard let limit else { return try await prepare(call, for: purpose) }
        return try await within(limit, of: call) { try await self.prepare(call, for: purpose) }
    }

    /// What is stored, where the network will not be asked for it: plugins may have to wait for
    /// what a request needs, and what is stored must not wait for that.
    private func storedAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly else { return nil }
        if preference == .networkFirst, mode != .preferStored, call.endpoint.rule == nil { return nil }
        let prepared = try await prepare(call, for: .lookup)
        let preference = prepared.reading.info.mode == .preferStored ? .storedFirst : preference
        guard preference != .networkFirst else { return nil }
        // The request's own directives may want more than freshness. RFC 9111 §5.2.1
        let isPlain = !prepared.request.head.headerFields.contains {
            ["cache-control", "pragma"].contains($0.name.canonicalName)
        }
        guard preference != .standard || isPlain, let stored = try await stored(call, prepared) else { return nil }
        // What a rule lifts is lifted where the origin cannot be asked; whether it can, the engine
        // knows.
        if stored.emission.outcome.isLifted, prepared.reading.info.mode != .offline { return nil }
        guard stored.emission.isStale else { return stored }
        switch preference {
        case .standard: return stored.isReusable(call, at: clock.now()) ? stored : nil
        case .staleWhileRevalidate:
            // Once the request can be made, the engine does what it does without plugins.
            Task {
                guard let prepared = try? await prepare(call, for: .network) else { return }
                var (request, _) = checked(prepared, call)
                request.preference = .staleWhileRevalidate
                _ = try? await engine.respond(to: request)
            }
            return stored
        default: return stored
        }
    }

    /// What is stored, where a request could not be made: it stands in as it does for an origin
    /// that cannot be reached. `nil` also where the request was refused its authentication, which
    /// is an answer.
    private func stored<Value: Sendable>(
        _ call: Call<Value>,
        insteadOf error: HoldfastError,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly, !error.isRefusedAuthentication else { return nil }
        var stored: Delivery<Value>?
        do {
            stored = try await self.stored(call, try await prepare(call, for: .lookup))
        } catch {
            // The first failure is the one to be told.
            try Task.checkCancellation()
        }
        if error.code == .overloaded {
            stored?.emission.outcome.detail = .overloaded
        } else {
            stored?.emission.outcome.noteOffline()
        }
        return stored
    }

    /// The network's value; marked unchanged where it is the stored one, which is then not made
    /// again.
    func network<Value: Sendable>(_ call: Call<Value>, after stored: Delivery<Value>?) async throws -> Delivery<Value> {
        var call = call
        let lane = lane(for: call)
        call.lane = lane
        return try await withTaskExecutorPreference(lane) { [call] in
            try await within(call.options.timeout ?? call.endpoint.timeout, of: call) {
                try await self.networkUnlimited(call, after: stored)
            }
        }
    }

    @concurrent
    private func networkUnlimited<Value: Sendable>(
        _ call: Call<Value>,
        after stored: Delivery<Value>?
    ) async throws -> Delivery<Value> {
        var call = call
        call.number = call.number ?? self.nextNumber()
        let prepared = try await self.prepare(call, for: .network)
        guard let stored else { return try await self.deliver(call, prepared, .networkOnly, mayReuse: true) }
        return try await self.converting(prepared) {
            var (request, judgement) = self.checked(prepared, call)
            request.preference = .networkOnly
            let response = try await self.respondOrReuse(to: request, call, prepared)
            if response.isValidated, response.stored?.bodyID == stored.bodyID {
                var confirmed = stored
                confirmed.emission = Emission(stored.emission.value, of: response, isUnchanged: true)
                return confirmed
            }
            var fresh = try await self.read(response, call, prepared, .networkOnly, judgement)
            fresh.emission.isUnchanged = fresh.hasSameContent(as: stored)
            return fresh
        }
    }

    /// - Parameter mayReuse: whether another call's response may answer, as far as the call chose
    ///   so itself. Who asks the network alone has the network; a stream that does so after a
    ///   stored value is no such caller.
    private func deliver<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        mayReuse: Bool? = nil
    ) async throws -> Delivery<Value> {
        let call = mayReuse ?? (preference != .networkOnly) ? call : call.with { $0.reuseWithin = nil }
        return try await converting(prepared) {
            var (request, judgement) = checked(prepared, call)
            request.preference = preference
            let response: CacheResponse
            do {
                response = try await respondOrReuse(to: request, call, prepared)
            } catch let error as HoldfastError {
                // The engine's errors are others: a plugin could not make the request anew.
                guard let stored = try await stored(call, insteadOf: error, preference) else { throw error }
                return stored
            }
            return try await read(response, call, prepared, preference, judgement)
        }
    }

    /// A call's request as it goes to the network: its response is looked at before it is stored.
    ///
    /// - Returns: beside it where the call finds what was made of that response.
    func checked<Value: Sendable>(
        _ prepared: PreparedCall,
        _ call: Call<Value>
    ) -> (CacheRequest, Judgement<Value>?) {
        var request = prepared.request
        guard request.storage != .never else { return (request, nil) }
        let judgement = Judgement<Value>()
        request.contentCheck = prepared.reading.check(call, keepingFor: judgement)
        if prepared.reading.decoding.takesBytes(call.decoded) {
            request.goodDataGuard = configuration.goodDataGuard
        }
        return (request, judgement)
    }

    /// Names errors as the request layer does.
    func converting<Result>(_ prepared: PreparedCall, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            if error is CancellationError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
    }

    /// The engine's answer; where the origin refused the request and a plugin knows what to do
    /// about it, the answer to the request made anew.
    ///
    /// - Parameter adjust: does to the request made anew what was done to the first one after it
    ///   had been prepared.
    @concurrent
    func respond<Value: Sendable>(
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        adjust: (inout CacheRequest) -> Void = { _ in }
    ) async throws -> CacheResponse {
        let response = try await respondWhenAdmitted(to: request)
        let plugins = plugins.and(call.options.plugins)
        guard response.source == .network, !plugins.recovering.isEmpty,
            !prepared.reading.acceptedStatuses.contains(response.head.status)
        else { return response }
        do {
            for plugin in plugins.recovering
            where try await plugin.recover(from: response.head, to: request, for: prepared.reading.info) {
                var again = try await prepare(call, for: .network, attempt: 1).request
                again.preference = request.preference
                again.ignoresStored = request.ignoresStored
                again.contentCheck = request.contentCheck
                again.goodDataGuard = request.goodDataGuard
                adjust(&again)
                return try await engine.respond(to: again)
            }
        } catch {
            if error is CancellationError || error is ExchangeError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
        return response
    }

    /// Reads an answer, or one from the other source where this one cannot be read. A success of a
    /// mutation counts before its caller sees it.
    private func read<Value: Sendable>(
        _ response: CacheResponse,
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        _ judgement: Judgement<Value>?
    ) async throws -> Delivery<Value> {
        if call.usesStore { noteUnstored(response, call.endpoint) }
        do {
            let delivery = try await prepared.reading.read(response, call.interpret, judgement)
            if response.source == .network { await invalidate(after: call) }
            return delivery
        } catch {
            forget(prepared.request, after: call)
            // What was done is done, whether its answer can be read or not, and whether anybody
            // still waits for it.
            if response.source == .network, prepared.reading.acceptedStatuses.contains(response.head.status),
                (error as? HoldfastError)?.saysNothingWasDone != true
            {
                await invalidate(after: call)
            }
            try Task.checkCancellation()
            var failure = error
            do {
                if let registered = try await registeringQuery(call, prepared, after: error) { return registered }
            } catch let error as HoldfastError where error.isOfTheContent {
                failure = error
            }
            guard let other = try await retry(call, prepared, preference, after: failure, from: response) else {
                throw failure
            }
            return other
        }
    }

    /// The answer to a persisted GraphQL query that the server did not know by its hash, and now
    /// does; `nil` where that was not what was wrong.
    private func registeringQuery<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        after error: any Error
    ) async throws -> Delivery<Value>? {
        guard (error as? HoldfastError)?.graphQLErrors?.isPersistedQueryUnknown == true,
            let registering = try call.endpoint.registeringRequest(
                environment: configuration.environment,
                defaults: configuration.defaults
            )
        else { return nil }
        var (request, judgement) = checked(prepared, call)
        request.head.method = registering.head.method
        request.head.path = registering.head.path
        request.head.headerFields[.contentType] = registering.head.headerFields[.contentType]
        request.body = registering.body
        request.keysContent = registering.keysContent
        request.storage = registering.storage
        request.invalidatesTarget = registering.invalidatesTarget
        return try await prepared.reading.read(try await engine.respond(to: request), call.interpret, judgement)
    }

    /// A second source after the first one's body failed: the store for the network, the network
    /// for the store.
    private func retry<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        after error: any Error,
        from response: CacheResponse
    ) async throws -> Delivery<Value>? {
        let error = HoldfastError(error, target: prepared.target)
        if response.stored != nil {
            guard prepared.reading.info.mode != .offline, preference != .storedOnly, !prepared.request.ignoresStored
            else { return nil }
            switch error.code {
            case .status, .authenticationFailed, .outdated, .bodyTooLarge: return nil
            case .truncated, .transportFailed:
                // Damaged: a 304 would confirm what cannot be read, so the origin is asked for all
                // of it, which is then stored.
                logger.warning("Stored response not readable", metadata: ["error": "\(error)"])
                var again = prepared
                again.request.ignoresStored = true
                return try await deliver(call, again, .networkOnly)
            default:
                // A miss for this type. What the origin confirmed is what it has.
                guard response.source == .store else { return nil }
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return try await deliver(call, prepared, .networkOnly)
            }
        }
        if response.outcome.detail == .recent, prepared.reading.info.mode != .offline {
            // It came for another call, and is a miss for this one.
            return try await deliver(call, prepared, .networkOnly)
        }
        guard error.code == .truncated || error.isOfTheContent, preference != .networkOnly,
            var fallback = try await stored(call, prepared)
        else { return nil }
        if error.code == .truncated {
            fallback.emission.outcome.noteOffline()
        } else {
            logger.warning("Response not usable; what is stored answers", metadata: ["error": "\(error)"])
            fallback.emission.outcome.noteGuarded(from: response.head.status)
        }
        return fallback
    }
}

extension Call {
    /// Whether it may take so long and no longer.
    fileprivate var isLimited: Bool { (options.timeout ?? endpoint.timeout) != nil }
}

extension Delivery {
    /// Whether it came so short a time ago that the call does not ask again. What was invalidated
    /// since is asked for, as the engine does.
    func isReusable(_ call: Call<Value>, at now: Timestamp) -> Bool {
        guard let window = call.options.reuseWithin, let receivedAt, !isInvalidated else { return false }
        // A clock that was set back makes nothing recent for ever.
        return window >= .zero && Duration.milliseconds(now.milliseconds(since: receivedAt).magnitude) <= window
    }
}

extension CacheOutcome {
    /// A directive forbids this use of what is stored unless the origin confirms it, and a rule
    /// lifts that.
    fileprivate var isLifted: Bool { detail?.description.hasPrefix("despite") == true }

    /// Says that the network is away; where what answers was changed at the origin, that is what is
    /// to be known of it.
    fileprivate mutating func noteOffline() {
        if detail != .invalidated { detail = .offline }
    }

    /// Says that the origin answered, and with nothing that could be used.
    fileprivate mutating func noteGuarded(from status: HTTPResponse.Status) {
        self = CacheOutcome(
            forward: .stale,
            forwardStatus: status.code,
            timeToLive: timeToLive,
            detail: detail ?? .guarded
        )
    }
}
