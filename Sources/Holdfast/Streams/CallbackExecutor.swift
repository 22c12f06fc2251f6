public import Dispatch

/// Where callbacks run.
public struct CallbackExecutor: Sendable {
    private let schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?

    /// Swift's own thread pool, which has as many threads as the machine has cores.
    ///
    /// A callback holds one of them until it returns. One that blocks (a lock held for long, a
    /// semaphore, a file, a socket) keeps all of Swift's tasks from running once there are as many
    /// of them as cores. Run those on a ``queue(_:)`` of your own.
    public static let concurrent = CallbackExecutor(schedule: nil)

    /// The main actor.
    public static let main = CallbackExecutor { work in Task { @MainActor in work() } }

    /// A dispatch queue, serial or not; callbacks of one subscription are serial in any case.
    public static func queue(_ queue: DispatchQueue) -> CallbackExecutor {
        CallbackExecutor { work in queue.async(execute: work) }
    }

    private init(schedule: (@Sendable (@escaping @Sendable () -> Void) -> Void)?) {
        self.schedule = schedule
    }

    /// An executor of one's own.
    ///
    /// - Parameter schedule: runs what it is given once, at some time, on some thread. What it
    ///   never runs never ends.
    public init(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.schedule = schedule
    }

    /// Runs `work` there and returns when it has returned.
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
