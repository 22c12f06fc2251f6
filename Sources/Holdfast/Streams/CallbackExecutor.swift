public import Dispatch

/// The place where callbacks run.
public struct CallbackExecutor: Sendable {
    private let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Swift's own thread pool, which has as many threads as the machine has cores.
    ///
    /// A callback holds one thread until it returns. If as many callbacks block (on a lock, a
    /// semaphore, a file or a socket) as the machine has cores, none of Swift's tasks can run. Run
    /// such callbacks on a ``queue(_:)`` of your own.
    public static let concurrent = CallbackExecutor(schedule: nil)

    /// The main actor.
    public static let main = CallbackExecutor { work in Task { @MainActor in work() } }

    /// A dispatch queue, serial or concurrent. Callbacks of one subscription are serial in any
    /// case.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor { work in queue.async(execute: work) }
    }

    private init(schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?) {
        self.schedule = schedule
    }

    /// Creates an executor of your own.
    ///
    /// - Parameter schedule: runs its argument once, at any time, on any thread. A callback that it
    ///   never runs never ends.
    public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.schedule = schedule
    }

    /// Runs `work` on the executor, and returns when `work` has returned.
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
