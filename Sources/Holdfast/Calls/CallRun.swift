import HTTPCache

/// One run of a call that may emit several values: from the store, from the network, and then whatever the store gets.
///
/// It is pulled: each value is made when it is asked for. Not `Sendable`: it belongs to one iterator.
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
        init(_ task: Task<Delivery<Value>, any Error>) { self.task = task }
        deinit { task.cancel() }
    }

    private var call: Call<Value>
    private var stage = Stage.beginning
    private var changes: AsyncStream<StoreChange>?
    private var client: CachingClient?
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
            return try await follow(&iterator, last)
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
            return try await client.network(call, after: nil).emission
        }
        let prepared = try await client.prepare(call, for: .lookup)
        if call.options.followsStore {
            changes = client.followed.following(client.engine.changes(for: prepared.request))
        }
        let stored = try await client.stored(call, prepared)
        let emitted = stored.flatMap { stored in
            stored.emission.isStale && call.options.staleValues == .skipped ? nil : stored
        }
        // The mode bounds the strategy: declared offline is no failure of the network. What came just now is not asked for again.
        if let emitted,
            client.mode == .offline || client.mode == .preferStored || emitted.isReusable(call, at: client.clock.now())
        {
            stage = following(emitted)
            isAtStoredValue = true
            return emitted.emission
        }
        // The origin is asked while the caller is busy with the stored value; it hears of the answer after that.
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
            stage = following(fresh)
            if stored != nil, fresh.emission.isUnchanged, call.options.unchangedValues == .suppressed {
                return try await next()
            }
            return fresh.emission
        } catch {
            try Task.checkCancellation()
            guard let stored, let error = error as? HoldfastError, error.isOfTheNetwork,
                call.options.networkFailure == .endingQuietly
            else { throw error }
            // Quiet about the network, it goes on with what others bring.
            stage = following(stored)
            return try await next()
        }
    }

    private func following(_ last: Delivery<Value>) -> Stage {
        changes.map { .following($0.makeAsyncIterator(), last: last) } ?? .ended
    }

    /// The next stored value that differs from the last one emitted. Ends when the task is cancelled or the client is closed.
    private func follow(
        _ iterator: inout AsyncStream<StoreChange>.AsyncIterator,
        _ last: Delivery<Value>
    ) async throws -> Emission<Value>? {
        guard let client else { return nil }
        while await iterator.next(isolation: #isolation) != nil {
            let prepared = try await client.prepare(call, for: .lookup)
            guard let stored = try await client.stored(call, prepared), !stored.hasSameContent(as: last) else {
                continue
            }
            stage = .following(iterator, last: stored)
            return stored.emission
        }
        try Task.checkCancellation()
        return nil
    }
}

extension Call {
    fileprivate func on(optional client: CachingClient?) -> Call {
        client.map(on) ?? self
    }
}
