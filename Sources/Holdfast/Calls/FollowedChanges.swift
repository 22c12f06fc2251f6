import HTTPCache
import Synchronization

/// The store's changes that a client's streams wait for. They end with the client.
///
/// The store may belong to another client too, and keep reporting changes. A stream that waits for
/// a closed client would wait forever.
final class FollowedChanges: Sendable {
    private struct State {
        var isClosed = false
        var following: [Int: Task<Void, Never>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Returns the same changes, until ``close()``.
    func follow(_ changes: AsyncStream<StoreChange>) -> AsyncStream<StoreChange> {
        let (followed, continuation) = AsyncStream.makeStream(
            of: StoreChange.self,
            // Streams only need to know that something changed, and whether something was
            // invalidated.
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

    /// Ends all of them. Later ones end at once.
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
