import HTTPCache
import Synchronization

/// The store changes that a client's streams wait for. Closing the client ends them.
///
/// The store may also belong to another client and continue to report changes. Without this class,
/// a stream would wait forever after its client is closed.
final class FollowedChanges: Sendable {
    private struct State {
        var isClosed = false
        var following: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// The number of streams that have not ended.
    var count: Int { state.withLock { $0.following.count } }

    /// Returns a stream of the same changes that ends on ``close()``.
    func follow(_ changes: AsyncStream<StoreChange>) -> AsyncStream<StoreChange> {
        let (followed, continuation) = AsyncStream.makeStream(
            of: StoreChange.self,
            // Streams need to know only that something changed, and whether something was
            // invalidated or is an update of the program.
            bufferingPolicy: .bufferingNewest(1)
        )
        let id: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let id = state.next
            state.next += 1
            state.following[id] = Task { [weak self] in
                for await change in changes {
                    guard case .dropped(let earlier) = continuation.yield(change) else { continue }
                    let both = change.including(earlier)
                    if both != change { continuation.yield(both) }
                }
                continuation.finish()
                self?.remove(id)
            }
            return id
        }
        guard let id else {
            continuation.finish()
            return followed
        }
        continuation.onTermination = { [weak self] _ in self?.remove(id)?.cancel() }
        return followed
    }

    /// Ends all streams. Streams that are added later end immediately.
    func close() {
        let ended = state.withLock { state in
            state.isClosed = true
            defer { state.following = [:] }
            return Array(state.following.values)
        }
        for passing in ended { passing.cancel() }
    }

    @discardableResult
    private func remove(_ id: Int) -> Task<Void, Never>? {
        state.withLock { $0.following.removeValue(forKey: id) }
    }
}

extension StoreChange {
    /// Returns a change that says all that a stream must know about this change and an earlier one.
    fileprivate func including(_ earlier: StoreChange) -> StoreChange {
        var both = earlier.kind == .invalidated ? earlier : self
        both.isUpdate = isUpdate || earlier.isUpdate
        return both
    }
}
