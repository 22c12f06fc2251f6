import Synchronization

/// Ends operations that take too long. One task watches all limits, so an operation that ends in
/// time costs a table entry, but no task and no timer.
final class Deadlines: Sendable {
    fileprivate struct Entry {
        /// When the entry expires, as time since this object was created.
        var due: Duration
        var expire: @Sendable () -> Void
    }

    fileprivate struct State {
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
        /// When the watcher wakes; `nil` if there is no watcher.
        var wakes: Duration?
        var watcher: Task<Void, Never>?
        /// Whether the watcher keeps sleeping when no entries are left, because more entries will
        /// follow. Tests that move a clock by hand rely on its sleepers.
        var isLingering: Bool
    }

    private let state: Mutex<State>
    private let sleeper: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration

    init(sleeper: any Clock<Duration>) {
        self.sleeper = sleeper
        elapsed = sleeper.sinceNow()
        let isMachines =
            sleeper is ContinuousClock || sleeper is SuspendingClock || sleeper is TimeoutClock<ContinuousClock>
        state = Mutex(State(isLingering: isMachines))
    }

    deinit { state.withLock { $0.watcher }?.cancel() }

    /// - Parameter expire: called once, outside the lock, unless ``end(_:)`` is called first.
    func begin(_ limit: Duration, _ expire: @escaping @Sendable () -> Void) -> UInt64 {
        let due = elapsed() + limit
        let (id, replaced) = state.withLock { state -> (UInt64, Task<Void, Never>?) in
            state.next += 1
            state.entries[state.next] = Entry(due: due, expire: expire)
            guard state.wakes.map({ due < $0 }) ?? true else { return (state.next, nil) }
            let replaced = state.watcher
            state.wakes = due
            state.watcher = watcher(due)
            return (state.next, replaced)
        }
        replaced?.cancel()
        return id
    }

    /// - Returns: whether the operation ended in time.
    func end(_ id: UInt64) -> Bool {
        let (wasInTime, idle) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            let wasInTime = state.entries.removeValue(forKey: id) != nil
            return (wasInTime, state.dismissWatcher())
        }
        idle?.cancel()
        return wasInTime
    }

    /// Ends the watcher once no limit is running. Limits that are running are still enforced.
    func close() {
        let watcher = state.withLock { state in
            state.isLingering = false
            return state.dismissWatcher()
        }
        watcher?.cancel()
    }

    private func watcher(_ due: Duration) -> Task<Void, Never> {
        let (sleeper, elapsed) = (sleeper, elapsed)
        return Task { [weak self] in
            var next: Duration? = due
            while let due = next {
                do { try await sleeper.sleep(for: max(due - elapsed(), .zero)) } catch { return }
                next = self?.woke(from: due)
            }
        }
    }

    /// - Returns: when the watcher must wake next; `nil` if it is no longer needed.
    private func woke(from due: Duration) -> Duration? {
        let now = elapsed()
        let (expired, next) = state.withLock { state -> ([Entry], Duration?) in
            // The watcher was canceled and replaced at this very moment.
            guard !Task.isCancelled, state.wakes == due else { return ([], nil) }
            let expired = state.entries.filter { $0.value.due <= now }
            for id in expired.keys { state.entries[id] = nil }
            state.wakes = state.entries.values.lazy.map(\.due).min()
            if state.wakes == nil { state.watcher = nil }
            return (Array(expired.values), state.wakes)
        }
        for entry in expired { entry.expire() }
        return next
    }
}

extension Deadlines.State {
    /// Removes the watcher if it is no longer needed.
    fileprivate mutating func dismissWatcher() -> Task<Void, Never>? {
        guard !isLingering, entries.isEmpty else { return nil }
        wakes = nil
        return watcher.take()
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that measures the time since this call.
    fileprivate func sinceNow() -> @Sendable () -> Swift.Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
