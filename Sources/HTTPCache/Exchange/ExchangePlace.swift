/// Where an exchange runs, and the fetch that it begins.
package enum ExchangePlace: Sendable {
    /// Where the system runs tasks.
    case system
    /// With others, who must not wait: an event loop. What may wait for a disk runs elsewhere.
    case shared(any TaskExecutor)
    /// Where nobody else is kept waiting, so that reading from a disk may keep it. What is written
    /// is so elsewhere all the same.
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
    /// Returns once a disk may be waited for where the caller runs. Called on this executor.
    func readyToBlock() async
}
