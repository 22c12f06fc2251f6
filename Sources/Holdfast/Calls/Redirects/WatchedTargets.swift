import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// The store changes to the targets of one stream: its endpoint's target, and the targets of its
/// redirects.
final class WatchedTargets: Sendable {
    private struct State {
        var targets: Set<TargetURI> = []
        var watching: [Task<Void, Never>] = []
    }

    /// The changes, until the store is closed.
    let changes: AsyncStream<StoreChange>
    private let continuation: AsyncStream<StoreChange>.Continuation
    private let engine: CacheEngine
    private let state = Mutex(State())

    init(_ engine: CacheEngine, _ request: CacheRequest) {
        self.engine = engine
        // The same number that the engine keeps for a slow listener.
        (changes, continuation) = AsyncStream.makeStream(of: StoreChange.self, bufferingPolicy: .bufferingNewest(64))
        watch(request)
    }

    deinit {
        for watching in state.withLock({ $0.watching }) { watching.cancel() }
        continuation.finish()
    }

    /// Adds the targets of redirects. If one of them is new, reports a change, because the target
    /// may have changed since its response was received.
    func watch(_ redirects: FollowedRedirects?) {
        guard let redirects else { return }
        let isNew = (redirects.requests + [redirects.last]).map { watch($0) }.contains(true)
        if isNew { continuation.yield(StoreChange(.stored, .all)) }
    }

    @discardableResult
    private func watch(_ request: CacheRequest) -> Bool {
        guard let target = TargetURI(request: request.head),
            state.withLock({ $0.targets.insert(target).inserted })
        else { return false }
        // The engine reports changes from this call on.
        let changes = engine.changes(for: request)
        let watching = Task { [continuation] in
            for await change in changes { continuation.yield(change) }
            if !Task.isCancelled { continuation.finish() }
        }
        state.withLock { $0.watching.append(watching) }
        return true
    }
}
