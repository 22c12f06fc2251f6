/// Where an exchange runs, and the fetch that it begins.
package enum ExchangePlace: Sendable {
    /// On the threads where the system runs tasks.
    case system
    /// On an executor shared with others, which must not wait: an event loop. Operations that may
    /// wait for a disk run elsewhere.
    case shared(any TaskExecutor)
    /// On an executor where nothing else is kept waiting, so that reading from a disk may block it.
    /// Writes still run elsewhere.
    case own(any BlockingExecutor)

    var executor: (any TaskExecutor)? {
        switch self {
        case .system: nil
        case .shared(let executor): executor
        case .own(let executor): executor
        }
    }

    var isShared: Bool {
        if case .shared = self { true } else { false }
    }
}

/// Runs one exchange and nothing else.
package protocol BlockingExecutor: TaskExecutor {
    /// Returns once the caller may wait for a disk where it runs. Called on this executor.
    func readyToBlock() async
}
