import HTTPCache
import HTTPTypes

extension CachingClient {
    /// Returns the stored value; `nil` if no stored response can be used as this type.
    func stored<Value: Sendable>(_ call: Call<Value>, _ prepared: PreparedCall) async throws -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = .storedOnly
        if let known = serveStoredAtOnce(call, prepared.reading, request, mayRead: mayRead(for: call)) { return known }
        return try await read(call, prepared, request)
    }

    /// Whether a call may read from disk and decode on its caller's thread. The call's task must
    /// not keep an actor or a custom executor (such as an event loop) waiting. It must not have a
    /// time limit either, because the limit could not be enforced.
    func mayRead(for call: Call<some Sendable>, isolation: isolated (any Actor)? = #isolation) -> Bool {
        isolation == nil && !call.isLimited && withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
    }

    /// Returns a value from the store on the caller's thread, without waking another thread. The
    /// value was decoded earlier from a response in memory or, if the call may read from disk, is
    /// decoded now.
    private func serveStoredAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ reading: ContentReading,
        _ request: CacheRequest,
        mayRead: Bool
    ) -> Delivery<Value>? {
        let recall = reading.mayRecall ? call.recall : nil
        guard mayRead || recall != nil else { return nil }
        // If this fails, the slow path tries again, reports errors and tries other sources. The
        // slow path also follows redirects.
        return try? engine.attempt(on: request, mayRead: mayRead) { response in
            guard !reading.isFollowed(response.head, to: request) else { return nil }
            if let recall, let known = reading.recallValue(response, recall) { return known }
            return mayRead ? try reading.readAtOnce(response, call.interpret) : nil
        }
    }

    /// Prepares a call that may be served on its caller's thread: no plugin prepares it, and its
    /// strategy accepts a stored response. Returns `nil` for other calls and for invalid requests.
    private func prepareIfServableAtOnce(
        _ call: Call<some Sendable>,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> PreparedCall? {
        guard call.usesStore, mayRead || call.recall != nil, strategy.isServedStored, strategy.softTimeout == nil,
            plugins.preparing.isEmpty, call.options.plugins.isEmpty
        else { return nil }
        return try? prepareAtOnce(call, for: .network)
    }

    /// Returns the value that the call's strategy selects, if it is available without waiting.
    private func serveAtOnce<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ strategy: SingleValueStrategy,
        mayRead: Bool
    ) -> Delivery<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = strategy.preference
        return serveStoredAtOnce(call, prepared.reading, request, mayRead: mayRead)
    }

    /// Reads and decodes the stored response.
    @concurrent
    private func read<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ request: CacheRequest
    ) async throws -> Delivery<Value>? {
        do {
            return try await prepared.reading.read(try await follow(request, call, prepared), call.interpret)
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
                // Treat the response as a miss for this type, and log the error. The stored bytes
                // stay for types that can read them.
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return nil
            }
        }
    }

    /// Returns a value by a strategy. Falls back to the store even if the network's response broke
    /// off in its body.
    func deliver<Value: Sendable>(_ call: Call<Value>, _ strategy: SingleValueStrategy) async throws -> Delivery<Value>
    {
        try Task.checkCancellation()
        var call = call
        // Set the number here: the call may be prepared twice, but is one call.
        call.number = call.number ?? nextNumber()
        let mayRead = mayRead(for: call)
        var prepared = prepareIfServableAtOnce(call, strategy, mayRead: mayRead)
        if let prepared, let known = serveAtOnce(call, prepared, strategy, mayRead: mayRead) { return known }
        // From here on, the caller's actor is busy only while the request is being sent. It resumes
        // when the value is ready.
        let executor = executor(for: call)
        call.executor = executor
        prepared?.request.executionContext = .own(executor)
        do {
            return try await withTaskExecutorPreference(executor) { [call, prepared] in
                try await untilClosed(call.name, on: executor) {
                    try await self.within(call.options.timeout ?? call.endpoint.timeout.asOptional, of: call) {
                        try await self.deliverUnlimited(call, prepared, strategy)
                    }
                }
            }
        } catch {
            return try await substitute(for: error, in: call)
        }
    }

    /// Returns the call's executor. A call starts on its caller's thread if all work before its
    /// first wait is short and belongs to the library, and if its own task enters the executor
    /// first.
    private func executor(for call: Call<some Sendable>) -> CallExecutor {
        let isShort = plugins.isEmpty && call.options.plugins.isEmpty && call.endpoint.task.isWithoutContent
        return CallExecutor(startsHere: isShort && !call.isLimited && EnvironmentSwitch.callExecutor.isOn)
    }

    /// - Parameter prepared: the prepared call, if it already exists.
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
        if !isReady, let stored = try await serveStoredBeforePreparing(call, strategy.preference) { return stored }
        let prepared: PreparedCall
        do {
            prepared = try await prepare(call, for: .network, isReady ? nil : strategy.softTimeout)
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(preparing: error, for: call.endpoint)
            if let stored = try await fallBack(call, after: error, strategy.preference) { return stored }
            // The strategy's time limit applies only if a response is stored.
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

    /// Returns the stored value if the network will not be contacted. Plugins may have to wait
    /// before they can prepare a request, and a stored value must not wait for them.
    private func serveStoredBeforePreparing<Value: Sendable>(
        _ call: Call<Value>,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly else { return nil }
        if preference == .networkFirst, mode != .preferStored, call.endpoint.rule.asOptional == nil { return nil }
        let prepared = try await prepare(call, for: .lookup)
        let preference = prepared.reading.info.mode == .preferStored ? .storedFirst : preference
        guard preference != .networkFirst else { return nil }
        // The request's own directives may require more than freshness. RFC 9111 §5.2.1
        let isPlain = !prepared.request.head.headerFields.contains {
            ["cache-control", "pragma"].contains($0.name.canonicalName)
        }
        guard preference != .standard || isPlain, let stored = try await stored(call, prepared) else { return nil }
        // A rule overrides a directive only while the origin is unreachable. Only the engine knows
        // whether the origin is reachable.
        if stored.emission.outcome.isLifted, prepared.reading.info.mode != .offline { return nil }
        guard stored.emission.isStale else { return stored }
        switch preference {
        case .standard: return stored.isReusable(call, at: clock.now()) ? stored : nil
        case .staleWhileRevalidate:
            // Once the request can be made, the engine does the same as without plugins.
            Task {
                guard let prepared = try? await prepare(call, for: .network) else { return }
                let (request, _) = makeCheckedRequest(prepared, call, .staleWhileRevalidate)
                _ = try? await follow(request, call, prepared)
            }
            return stored
        default: return stored
        }
    }

    /// Returns the stored value if a request could not be made, as if the origin were unreachable.
    /// Returns `nil` if authentication was rejected, because a rejection is an answer.
    private func fallBack<Value: Sendable>(
        _ call: Call<Value>,
        after error: HoldfastError,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value>? {
        guard call.usesStore, preference != .networkOnly, !error.isAuthenticationRejection else { return nil }
        var stored: Delivery<Value>?
        do {
            stored = try await self.stored(call, try await prepare(call, for: .lookup))
        } catch {
            // Report the first failure.
            try Task.checkCancellation()
        }
        switch error.code {
        case .overloaded: stored?.emission.outcome.detail = .overloaded
        case .redirectFailed: stored?.emission.outcome.noteGuarded(from: error.status)
        default: stored?.emission.outcome.noteUnreachable()
        }
        return stored
    }

    /// Returns the network's value. If a 304 confirms the stored value, returns the stored value,
    /// marked unchanged, without decoding it again. A new response with equal content is marked
    /// unchanged, too.
    func network<Value: Sendable>(_ call: Call<Value>, after stored: Delivery<Value>?) async throws -> Delivery<Value> {
        var call = call
        let executor = executor(for: call)
        call.executor = executor
        return try await withTaskExecutorPreference(executor) { [call] in
            try await untilClosed(call.name, on: executor) {
                try await self.within(call.options.timeout ?? call.endpoint.timeout.asOptional, of: call) {
                    try await self.networkUnlimited(call, after: stored)
                }
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
        return try await self.convertErrors(prepared) {
            let (request, judgement) = self.makeCheckedRequest(prepared, call, .networkOnly)
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

    /// - Parameter mayReuse: whether another call's response may be used, if the call's own options
    ///   allow reuse. A caller that requests only the network must get the network. A stream that
    ///   requests the network after a stored value may reuse.
    func deliver<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        mayReuse: Bool? = nil
    ) async throws -> Delivery<Value> {
        let call = mayReuse ?? (preference != .networkOnly) ? call : call.with { $0.reuseWithin = nil }
        return try await convertErrors(prepared) {
            let (request, judgement) = makeCheckedRequest(prepared, call, preference)
            let response: CacheResponse
            do {
                response = try await respondOrReuse(to: request, call, prepared)
            } catch let error as HoldfastError {
                // The engine throws errors of other types. This error therefore states that a
                // plugin could not remake the request, or that a redirect did not lead to a
                // response.
                guard let stored = try await fallBack(call, after: error, preference) else { throw error }
                return stored
            }
            if let stored = try await storedInstead(of: response, to: request, call, prepared) { return stored }
            return try await read(response, call, prepared, preference, judgement)
        }
    }

    /// Returns a call's request with a check that runs before its response is stored.
    ///
    /// - Returns: the request, and the place where the check leaves the value that it decoded.
    func makeCheckedRequest<Value: Sendable>(
        _ prepared: PreparedCall,
        _ call: Call<Value>,
        _ preference: CacheRequest.Preference? = nil
    ) -> (CacheRequest, Judgement<Value>?) {
        var request = prepared.request
        if let preference { request.preference = preference }
        guard request.storage != .never else { return (request, nil) }
        let judgement = Judgement<Value>()
        let check = prepared.reading.check(call, keepingFor: judgement)
        request.contentCheck = judgingRedirects(of: request, call, prepared, by: check)
        if prepared.reading.decoding.takesBytes(call.decoded) {
            request.goodDataGuard = configuration.goodDataGuard
        }
        return (request, judgement)
    }

    /// Converts the engine's errors to ``HoldfastError``.
    func convertErrors<Result>(_ prepared: PreparedCall, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            if error is CancellationError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
    }

    /// Returns the engine's response, after redirects. If the origin rejected the request and a
    /// plugin recovers from the rejection, returns the response to the remade request.
    ///
    /// - Parameter adjust: repeats, on the remade request, the changes that were made to the first
    ///   request after it was prepared.
    @concurrent
    func respond<Value: Sendable>(
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        adjust: (inout CacheRequest) -> Void = { _ in }
    ) async throws -> CacheResponse {
        let response = try await follow(request, call, prepared)
        let plugins = plugins.and(call.options.plugins)
        guard response.source == .network, !plugins.recovering.isEmpty,
            !prepared.reading.acceptedStatuses.contains(response.head.status)
        else { return response }
        do {
            let rejected = response.redirects?.last ?? request
            for plugin in plugins.recovering
            where try await plugin.recover(from: response.head, to: rejected, for: prepared.reading.info) {
                var again = try await prepare(call, for: .network, attempt: 1).request
                again.preference = request.preference
                again.ignoresStored = request.ignoresStored
                again.contentCheck = request.contentCheck
                again.goodDataGuard = request.goodDataGuard
                adjust(&again)
                return try await follow(again, call, prepared)
            }
        } catch {
            if error is CancellationError || error is ExchangeError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
        return response
    }

    /// Reads a response. If it cannot be read, tries again, registers the call's persisted query,
    /// or reads a response from the other source, whichever applies first. The invalidations of a
    /// successful mutation take effect before its caller sees the result.
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
            // The mutation took effect, even if its response cannot be read or its caller has been
            // canceled.
            if response.source == .network, prepared.reading.acceptedStatuses.contains(response.head.status),
                (error as? HoldfastError)?.reportsNoEffect != true
            {
                await invalidate(after: call)
            }
            try Task.checkCancellation()
            if let again = try await retry(call, prepared, preference, afterBreakOf: response, error) { return again }
            var failure = error
            if let redirects = response.redirects, !(error is CancellationError) {
                failure = HoldfastError(error, target: prepared.target).naming(redirects)
            }
            do {
                if let registered = try await registerQuery(call, prepared, after: error) { return registered }
            } catch let error as HoldfastError where error.isContentFailure {
                failure = error
            }
            guard let other = try await retry(call, prepared, preference, after: failure, from: response) else {
                throw failure
            }
            return other
        }
    }

    /// Registers a persisted GraphQL query if the server did not know its hash, and returns the
    /// response. Returns `nil` for any other error.
    private func registerQuery<Value: Sendable>(
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
        var (request, judgement) = makeCheckedRequest(prepared, call)
        request.head.method = registering.head.method
        request.head.path = registering.head.path
        request.head.headerFields[.contentType] = registering.head.headerFields[.contentType]
        request.body = registering.body
        request.keysContent = registering.keysContent
        request.storage = registering.storage
        request.invalidatesTarget = registering.invalidatesTarget
        return try await prepared.reading.read(try await follow(request, call, prepared), call.interpret, judgement)
    }

    /// Tries the other source after the first source's body failed: the store if the network
    /// failed, the network if the store failed.
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
                // The entry is damaged. A 304 would confirm unreadable content, so the client
                // fetches and stores the whole response.
                logger.warning("Stored response not readable", metadata: ["error": "\(error)"])
                var again = prepared
                again.request.ignoresStored = true
                return try await deliver(call, again, .networkOnly)
            default:
                // A miss for this type. If the origin confirmed the content, the origin has no
                // other.
                guard response.source == .store else { return nil }
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return try await deliver(call, prepared, .networkOnly)
            }
        }
        if response.outcome.detail == .recent, prepared.reading.info.mode != .offline {
            // The response was fetched for another call, and is a miss for this one.
            return try await deliver(call, prepared, .networkOnly)
        }
        guard error.code == .truncated || error.isContentFailure, preference != .networkOnly,
            var fallback = try await stored(call, prepared)
        else { return nil }
        if error.code == .truncated {
            fallback.emission.outcome.noteUnreachable()
        } else {
            logger.warning("Response not usable; using the stored response", metadata: ["error": "\(error)"])
            fallback.emission.outcome.noteGuarded(from: response.head.status)
        }
        return fallback
    }
}

extension Call {
    /// The name of the call in errors.
    var name: String { "\(Swift.type(of: endpoint))" }

    /// Whether the call has a time limit.
    fileprivate var isLimited: Bool { (options.timeout ?? endpoint.timeout.asOptional) != nil }
}

extension Delivery {
    /// Whether the response is recent enough that the call does not fetch again. An invalidated
    /// response is always fetched again, as in the engine.
    func isReusable(_ call: Call<Value>, at now: Timestamp) -> Bool {
        guard let window = call.options.reuseWithin, let receivedAt, !isInvalidated else { return false }
        // If the clock is set back, a response must not stay recent forever.
        return window >= .zero && Duration.milliseconds(now.milliseconds(since: receivedAt).magnitude) <= window
    }
}

extension CacheOutcome {
    /// Whether a rule overrides a directive that forbids this use of an unconfirmed stored
    /// response.
    fileprivate var isLifted: Bool { detail?.description.hasPrefix("despite") == true }

    /// Records that the origin is unreachable. If the detail states that the resource has been
    /// invalidated, that detail stays.
    fileprivate mutating func noteUnreachable() {
        if detail != .invalidated { detail = .unreachable }
    }

    /// Records that the origin responded, but with unusable content or an unusable redirect.
    mutating func noteGuarded(from status: HTTPResponse.Status?) {
        self = CacheOutcome(
            forward: .stale,
            forwardStatus: status?.code,
            timeToLive: timeToLive,
            detail: detail ?? .guarded
        )
    }
}
