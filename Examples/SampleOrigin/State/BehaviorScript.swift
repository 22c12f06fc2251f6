import Synchronization

/// The behaviors that were forced and are not used up yet, in the order in which they were forced.
final class BehaviorScript: Sendable {
    private struct Entry {
        let behavior: ForcedBehavior
        let path: String?
        var remaining: Int
    }

    private let entries = Mutex<[Entry]>([])

    func force(_ behavior: ForcedBehavior, times: Int, path: String?) {
        guard times > 0 else { return }
        entries.withLock { $0.append(Entry(behavior: behavior, path: path, remaining: times)) }
    }

    /// Returns the behavior for a request to `path`, and uses it up once.
    func next(path: String) -> ForcedBehavior? {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.path == nil || $0.path == path }) else { return nil }
            let behavior = entries[index].behavior
            // `.max` means without limit, so it is never decremented.
            if entries[index].remaining != .max { entries[index].remaining -= 1 }
            if entries[index].remaining == 0 { entries.remove(at: index) }
            return behavior
        }
    }

    func clear() {
        entries.withLock { $0.removeAll() }
    }
}
