import HTTPCache
import HoldfastContent

/// One run of a call that may emit several values: the stored value, the network's value, and then
/// each value that is stored later.
///
/// Its iterator pulls: each value is produced on demand. The class is not `Sendable`, because a run
/// belongs to one iterator.
final class CallRun<Value: Sendable> {
    private enum Stage {
        case beginning
        /// The network's value is being fetched. `after` is the stored value, if there is one.
        case network(Running, after: Delivery<Value>?)
        case following(AsyncStream<StoreChange>.AsyncIterator, last: Delivery<Value>)
        case ended
    }

    /// The fetch that runs ahead of its consumer. It ends with the run.
    private final class Running: Sendable {
        let task: Task<Delivery<Value>, any Error>
        /// If callbacks consume the run, canceling the subscription cancels the fetch without
        /// waiting for a callback to return.
        private let registration: CancellationGroup.Member?

        init(_ task: Task<Delivery<Value>, any Error>) {
            self.task = task
            registration = StreamSubscription.Cancellation.current?.underWay.add { task.cancel() }
        }

        deinit {
            registration?.end()
            task.cancel()
        }
    }

    private var call: Call<Value>
    private var stage = Stage.beginning
    private var watched: WatchedTargets?
    private var changes: AsyncStream<StoreChange>?
    private var client: CachingClient?
    /// Whether the last value seen is valid. If so, an invalidation applies to it, and is handled
    /// once.
    private var isValid = true
    /// The version that was stored when the origin was last contacted.
    private var storedAtLastFetch: StoredVersion?
    /// The version that the network's value replaced. It may still be stored, because an
    /// invalidation can prevent the new response from being stored.
    private var superseded: StoredVersion?
    /// Whether the last value was the stored one that precedes the network's.
    private(set) var isAtStoredValue = false

    init(_ call: Call<Value>) {
        self.call = call
        // Read the client here, while the caller's task-local values are still available.
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
                // The change happened before the end, but was reported after it.
                return nil
            }
        }
    }

    /// Emits the stored value if there is one to emit, otherwise the network's value.
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
            prepared = try await client.prepareLookup(call)
        } catch {
            stage = .ended
            return try await client.substitute(for: error, in: call).emission
        }
        if call.options.followsStore {
            let watched = WatchedTargets(client.engine, prepared.request)
            changes = client.followed.follow(watched.changes)
            self.watched = watched
        }
        let stored = try await client.stored(call, prepared)
        watched?.watch(stored?.redirects)
        let emitted = stored.flatMap { stored in
            stored.emission.isStale && call.options.staleValues == .skipped ? nil : stored
        }
        isValid = stored?.isInvalidated != true
        storedAtLastFetch = stored?.version
        // The mode limits the strategy: in `offline` mode, a missing network is not a failure. A
        // value that was received recently is not fetched again.
        if let emitted, prepared.keepsNetworkOut || emitted.isReusable(call, at: client.clock.now()) {
            stage = followingStage(after: emitted)
            isAtStoredValue = true
            return emitted.emission
        }
        // The origin is contacted while the caller uses the stored value. The caller receives the
        // response afterward.
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
            watched?.watch(fresh.redirects)
            // Without an emitted value, there is nothing to compare with.
            if stored == nil { fresh.emission.isUnchanged = false }
            isValid = true
            superseded = fresh.version == storedAtLastFetch ? nil : storedAtLastFetch
            stage = followingStage(after: fresh)
            if stored != nil, fresh.emission.isUnchanged, call.options.unchangedValues == .suppressed {
                return try await next()
            }
            return fresh.emission
        } catch {
            try Task.checkCancellation()
            if let stored, let failure = error as? HoldfastError, failure.isNetworkFailure || failure.isContentFailure,
                call.options.networkFailure == .endingQuietly
            {
                // The network's failure is not reported; the stream continues with later stored
                // values.
                stage = followingStage(after: stored)
                return try await next()
            }
            guard let client else { throw error }
            // The caller already has a value from the origin, although an old one. A substitute
            // does not replace it.
            let substitute = try await client.substitute(for: error, in: call, maySubstitute: stored == nil)
            stage = followingStage(after: substitute)
            return substitute.emission
        }
    }

    private func followingStage(after last: Delivery<Value>) -> Stage {
        changes.map { .following($0.makeAsyncIterator(), last: last) } ?? .ended
    }

    /// Returns the next stored value that differs in content or state from the last emission. Ends
    /// when the task is canceled, or when the client or the store is closed.
    private func follow(
        _ iterator: inout AsyncStream<StoreChange>.AsyncIterator,
        _ last: Delivery<Value>
    ) async throws -> Emission<Value>? {
        guard let client else { return nil }
        while let change = await iterator.next(isolation: #isolation) {
            let prepared = try await client.prepareLookup(call)
            let stored = try await client.stored(call, prepared)
            watched?.watch(stored?.redirects)
            if let version = stored?.version, version == superseded { continue }
            let changed = stored.flatMap { self.valueIfChanged($0, after: last) }
            let wasValid = isValid
            isValid = stored.map { !$0.isInvalidated } ?? (wasValid && change.kind != .invalidated)
            if wasValid, !isValid, call.options.invalidatedValues == .fetched, !prepared.keepsNetworkOut {
                storedAtLastFetch = stored?.version
                let (call, after) = (call, changed ?? last)
                let running = Running(Task { try await client.network(call, after: after) })
                guard let changed else { return try await network(running, after: last) }
                stage = .network(running, after: changed)
                return changed.emission
            }
            guard let changed else { continue }
            stage = .following(iterator, last: changed)
            return changed.emission
        }
        try Task.checkCancellation()
        return nil
    }

    /// Returns the stored value if its content differs from the last emission, if it has been
    /// invalidated since, or if it was stale and is now confirmed.
    private func valueIfChanged(_ stored: Delivery<Value>, after last: Delivery<Value>) -> Delivery<Value>? {
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
    /// Whether stored values are served without contacting the network.
    fileprivate var keepsNetworkOut: Bool { [.offline, .preferStored].contains(reading.info.mode) }
}

extension Call {
    fileprivate func on(optional client: CachingClient?) -> Call {
        client.map(on) ?? self
    }
}
