import Synchronization

/// Work that is cancelled together: the requests of a subscription, or everything that waits when a
/// client is closed.
final class CancellationGroup: Sendable {
    private struct State {
        var isCancelled = false
        var members: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Adds work until ``Member/end()``. If the group was cancelled before, the work is cancelled
    /// at once.
    ///
    /// - Parameter cancel: called at most once.
    func add(_ cancel: @escaping @Sendable () -> Void) -> Member? {
        let number: Int? = state.withLock { state in
            if state.isCancelled { return nil }
            defer { state.next += 1 }
            state.members[state.next] = cancel
            return state.next
        }
        if number == nil { cancel() }
        return number.map { Member(group: self, number: $0) }
    }

    /// Cancels all work, and all that is added later.
    func cancel() {
        let members = state.withLock { state in
            state.isCancelled = true
            defer { state.members = [:] }
            return state.members.values
        }
        for cancel in members { cancel() }
    }

    /// Work in a group.
    struct Member: Sendable {
        fileprivate let group: CancellationGroup
        fileprivate let number: Int

        /// Removes the work, which has ended.
        func end() {
            // Released outside the lock, because that may run foreign code.
            let removed = group.state.withLock { $0.members.removeValue(forKey: number) }
            withExtendedLifetime(removed) {}
        }
    }
}
