import HTTPCache

/// One run of a call that may emit several values: from the store, from the network, and then
/// whatever the store gets.
///
/// It is pulled: each value is made when it is asked for. Not `Sendable`: it belongs to one
/// iterator.
final class CallRun<Value: Sendable> {
    private enum Stage {
        case beginning
        /// The network's value is under way, after the stored one, if any.
        case network(Running, after: Delivery<Value>?)
        case following(AsyncStream<StoreChange>.AsyncIterator, last: Delivery<Value>)
        case ended
    }

    /// The fetch ahead; it ends with the run.
    private final class Running: Sendable {
        let task: Task<Delivery<Value>, any Error>
        /// Where callbacks are the ones that ask: who cancels those need not wait for one to
        /// return.
        private let registration: Subscription.Cancellation.Registration?

        init(_ task: Task<Delivery<Value>, any Error>) {
            self.task = task
            registration = Subscription.Cancellation.current?.register { task.cancel() }
        }

        deinit {
            registration?.end()
            task.cancel()
        }
    }

    private var call: Call<Value>
    private var stage = Stage.beginning
    private var changes: AsyncStream<StoreChange>?
    private var client: CachingClient?
    /// Whether what was seen last is valid, so that an invalidation is one of it, and is dealt with
    /// once.
    private var isValid = true
    /// What was stored when the origin was asked last.
    private var storedWhenAsked: StoredVersion?
    /// In whose place the network's value came. It may be stored still, because an invalidation
    /// kept what came from being stored.
    private var superseded: StoredVersion?
    /// Whether the last value was the stored one that goes before the network's.
    private(set) var isAtStoredValue = false

    init(_ call: Call<Value>) {
        self.call = call
        // Here, because the caller's task-local values are.
        client = call.client ?? CachingClient.current
    }

    func next() async throws -> Emission<Value>? {
        isAtStoredValue = false
        switch stage {
        case .ended: return nil
        case .beginning:
            do {
                return try await begin()
            } catch {
                stage = .ended
                throw error
            }
        case .network(let running, let stored):
            stage = .ended
            return try await network(running, after: stored)
        case .following(var iterator, let last):
            stage = .ended
            do {
                return try await follow(&iterator, last)
            } catch let error as HoldfastError where error.code == .closed {
                // A change that came before the end was told of after it.
                return nil
            }
        }
    }

    /// The stored value, if there is one to be emitted; otherwise the network's.
    private func begin() async throws -> Emission<Value>? {
        let client = try call.on(optional: client).resolvedClient()
        self.client = client
        call.number = call.number ?? client.nextNumber()
        let call = call
        guard call.usesStore else {
            stage = .ended
            do {
                return try await client.network(call, after: nil).emission
            } catch {
                return try await client.substitute(for: error, in: call).emission
            }
        }
        let prepared: PreparedCall
        do {
            prepared = try await client.prepare(call, for: .lookup)
        } catch {
            stage = .ended
            return try await client.substitute(for: error, in: call).emission
        }
        if call.options.followsStore {
            changes = client.followed.following(client.engine.changes(for: prepared.request))
        }
        let stored = try await client.stored(call, prepared)
        let emitted = stored.flatMap { stored in
            stored.emission.isStale && call.options.staleValues == .skipped ? nil : stored
        }
        isValid = stored?.isInvalidated != true
        storedWhenAsked = stored?.version
        // The mode bounds the strategy: declared offline is no failure of the network. What came
        // just now is not asked for again.
        if let emitted, prepared.keepsNetworkOut || emitted.isReusable(call, at: client.clock.now()) {
            stage = following(emitted)
            isAtStoredValue = true
            return emitted.emission
        }
        // The origin is asked while the caller is busy with the stored value; it hears of the
        // answer after that.
        let running = Running(Task { try await client.network(call, after: stored) })
        guard let emitted else { return try await network(running, after: nil) }
        stage = .network(running, after: emitted)
        isAtStoredValue = true
        return emitted.emission
    }

    private func network(_ running: Running, after stored: Delivery<Value>?) async throws -> Emission<Value>? {
        let task = running.task
        do {
            var fresh = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            // A stored value that was left out is nothing to compare with.
            if stored == nil { fresh.emission.isUnchanged = false }
            isValid = true
            superseded = fresh.version == storedWhenAsked ? nil : storedWhenAsked
            stage = following(fresh)
            if stored != nil, fresh.emission.isUnchanged, call.options.unchangedValues == .suppressed {
                return try await next()
            }
            return fresh.emission
        } catch {
            try Task.checkCancellation()
            if let stored, let failure = error as? HoldfastError, failure.isOfTheNetwork || failure.isOfTheContent,
                call.options.networkFailure == .endingQuietly
            {
                // Quiet about the network, it goes on with what others bring.
                stage = following(stored)
                return try await next()
            }
            guard let client else { throw error }
            // The caller has the origin's own value, if an old one: nothing made up takes its
            // place.
            let substitute = try await client.substitute(for: error, in: call, mayAnswer: stored == nil)
            stage = following(substitute)
            return substitute.emission
        }
    }

    private func following(_ last: Delivery<Value>) -> Stage {
        changes.map { .following($0.makeAsyncIterator(), last: last) } ?? .ended
    }

    /// The next stored value that is news after the last one emitted. Ends when the task is
    /// cancelled, or client or store are closed.
    private func follow(
        _ iterator: inout AsyncStream<StoreChange>.AsyncIterator,
        _ last: Delivery<Value>
    ) async throws -> Emission<Value>? {
        guard let client else { return nil }
        while let change = await iterator.next(isolation: #isolation) {
            let prepared = try await client.prepare(call, for: .lookup)
            let stored = try await client.stored(call, prepared)
            if let version = stored?.version, version == superseded { continue }
            let news = stored.flatMap { self.news($0, after: last) }
            let wasValid = isValid
            isValid = stored.map { !$0.isInvalidated } ?? (wasValid && change.kind != .invalidated)
            if wasValid, !isValid, call.options.invalidatedValues == .fetched, !prepared.keepsNetworkOut {
                storedWhenAsked = stored?.version
                let (call, after) = (call, news ?? last)
                let running = Running(Task { try await client.network(call, after: after) })
                guard let news else { return try await network(running, after: last) }
                stage = .network(running, after: news)
                return news.emission
            }
            guard let news else { continue }
            stage = .following(iterator, last: news)
            return news.emission
        }
        try Task.checkCancellation()
        return nil
    }

    /// What is stored, where it is other content than was emitted last, or the same that was
    /// invalidated since, or was stale then and is confirmed.
    private func news(_ stored: Delivery<Value>, after last: Delivery<Value>) -> Delivery<Value>? {
        if stored.isInvalidated, call.options.staleValues == .skipped { return nil }
        guard stored.hasSameContent(as: last) else { return stored }
        let isInvalidated = stored.isInvalidated && !last.emission.isStale
        let isConfirmed = last.emission.isStale && !stored.emission.isStale
        guard isInvalidated || isConfirmed && call.options.unchangedValues == .emitted else { return nil }
        var same = stored
        same.emission.isUnchanged = true
        return same
    }
}

extension PreparedCall {
    /// Whether what is stored answers without the network being asked.
    fileprivate var keepsNetworkOut: Bool { [.offline, .preferStored].contains(reading.info.mode) }
}

extension Call {
    fileprivate func on(optional client: CachingClient?) -> Call {
        client.map(on) ?? self
    }
}
