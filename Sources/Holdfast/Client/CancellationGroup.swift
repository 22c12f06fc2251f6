import Synchronization

/// A group of tasks that are canceled together, such as the requests of a subscription, or all
/// waits of a client that is closed.
final class CancellationGroup: Sendable {
    private struct State {
        var isCancelled = false
        var members: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Adds a task, until ``Member/end()``. If the group is already canceled, cancels the task
    /// immediately.
    ///
    /// - Parameter cancel: cancels the task; called at most once.
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

    /// Cancels all tasks, including any that are added later.
    func cancel() {
        let members = state.withLock { state in
            state.isCancelled = true
            defer { state.members = [:] }
            return state.members.values
        }
        for cancel in members { cancel() }
    }

    /// A task in a group.
    struct Member: Sendable {
        fileprivate let group: CancellationGroup
        fileprivate let number: Int

        /// Removes the task, because it has ended.
        func end() {
            // Release it outside the lock, because this may run foreign code.
            let removed = group.state.withLock { $0.members.removeValue(forKey: number) }
            withExtendedLifetime(removed) {}
        }
    }
}
