public import Dispatch

/// An executor for callbacks.
public struct CallbackExecutor: Sendable {
    private let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Swift's own thread pool, which has as many threads as the machine has cores.
    ///
    /// A callback occupies one thread until it returns. If as many callbacks block (on a lock, a
    /// semaphore, a file or a socket) as the machine has cores, none of Swift's tasks can run. Run
    /// such callbacks on your own ``queue(_:)``.
    public static let concurrent = CallbackExecutor(schedule: nil)

    /// The main actor.
    public static let main = CallbackExecutor { work in Task { @MainActor in work() } }

    /// A dispatch queue, serial or concurrent. The callbacks of one subscription always run one
    /// after another.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor { work in queue.async(execute: work) }
    }

    private init(schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?) {
        self.schedule = schedule
    }

    /// Creates a custom executor.
    ///
    /// - Parameter schedule: runs its argument exactly once, at any time, on any thread. If it
    ///   never runs the argument, the subscription waits forever.
    public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.schedule = schedule
    }

    /// Runs `work` on the executor, and waits until `work` has returned.
    func run(_ work: @escaping @Sendable () -> Void) async {
        guard let schedule else { return work() }
        await withCheckedContinuation { continuation in
            schedule {
                work()
                continuation.resume()
            }
        }
    }
}
