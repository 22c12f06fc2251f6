import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// The store's changes to the targets of one stream: that of its endpoint, and those that its
/// redirects lead to.
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
        // As many as the engine itself keeps for a slow listener.
        (changes, continuation) = AsyncStream.makeStream(of: StoreChange.self, bufferingPolicy: .bufferingNewest(64))
        watch(request)
    }

    deinit {
        for watching in state.withLock({ $0.watching }) { watching.cancel() }
        continuation.finish()
    }

    /// Adds the targets of redirects, and reports a change if one is new: it may have changed since
    /// its response came.
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
        // It reports changes from this call on.
        let changes = engine.changes(for: request)
        let watching = Task { [continuation] in
            for await change in changes { continuation.yield(change) }
            if !Task.isCancelled { continuation.finish() }
        }
        state.withLock { $0.watching.append(watching) }
        return true
    }
}
