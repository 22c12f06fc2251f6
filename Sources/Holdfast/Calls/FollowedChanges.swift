import HTTPCache
import Synchronization

/// The changes of the store that a client's streams wait for, so that they end with the client.
///
/// The store may be another client's too, and go on telling: who waits for what this client will
/// not answer any more would wait for ever.
final class FollowedChanges: Sendable {
    private struct State {
        var isClosed = false
        var following: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// The same changes, until ``close()``.
    func following(_ changes: AsyncStream<StoreChange>) -> AsyncStream<StoreChange> {
        let (followed, continuation) = AsyncStream.makeStream(
            of: StoreChange.self,
            // That there was one, and whether something was invalidated, is all that is looked at.
            bufferingPolicy: .bufferingNewest(1)
        )
        let id: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let id = state.next
            state.next += 1
            state.following[id] = Task { [weak self] in
                for await change in changes {
                    guard case .dropped(let earlier) = continuation.yield(change), earlier.kind == .invalidated else {
                        continue
                    }
                    continuation.yield(earlier)
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

    /// Ends all of them, and those to come at once.
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
