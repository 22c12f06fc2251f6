import HTTPCache
import HoldfastContent

extension CachingClient {
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
            return try await runLimited(call, on: executor) { [call, prepared] in
                try await self.deliverUnlimited(call, prepared, strategy)
            }
        } catch {
            return try await substitute(for: error, in: call)
        }
    }

    /// Returns the network's value. If a 304 confirms the stored value, returns the stored value,
    /// marked unchanged, without decoding it again. A new response with equal content is marked
    /// unchanged, too.
    func network<Value: Sendable>(_ call: Call<Value>, after stored: Delivery<Value>?) async throws -> Delivery<Value> {
        var call = call
        let executor = executor(for: call)
        call.executor = executor
        return try await runLimited(call, on: executor) { [call] in
            try await self.networkUnlimited(call, after: stored)
        }
    }

    /// Returns the call's executor. A call starts on its caller's thread if all work before its
    /// first wait is short and belongs to the library, and if its own task enters the executor
    /// first.
    private func executor(for call: Call<some Sendable>) -> CallExecutor {
        let isShort = plugins.isEmpty && call.options.plugins.isEmpty && call.endpoint.task.isWithoutContent
        return CallExecutor(startsHere: isShort && call.timeLimit == nil && EnvironmentSwitch.callExecutor.isOn)
    }

    /// Runs the part of a call that may wait, on the call's executor and within its time limit.
    private func runLimited<Value: Sendable, Result: Sendable>(
        _ call: Call<Value>,
        on executor: CallExecutor,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withTaskExecutorPreference(executor) {
            try await untilClosed(call.name, on: executor) {
                try await self.within(call.timeLimit, of: call, body)
            }
        }
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

    private func prepare<Value: Sendable>(
        _ call: Call<Value>,
        for purpose: CallInfo.Purpose,
        _ limit: Duration?
    ) async throws -> PreparedCall {
        guard let limit else { return try await prepare(call, for: purpose) }
        return try await within(limit, of: call) { try await self.prepare(call, for: purpose) }
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
}

extension Call {
    /// The name of the call in errors.
    var name: String { "\(Swift.type(of: endpoint))" }

    /// The maximum duration of the call; `nil` if there is none.
    var timeLimit: Duration? { options.timeout ?? endpoint.timeout.asOptional }
}
