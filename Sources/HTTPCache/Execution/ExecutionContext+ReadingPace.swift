import NIOCore
import Synchronization

extension ExecutionContext {
    /// Decides whether callers' threads may read from a disk. They may as long as a read takes
    /// microseconds, which is the case if the system has cached the bytes.
    ///
    /// After a slow read, no thread reads for a hundred times its duration, so that callers'
    /// threads wait for a disk at most one hundredth of the time. Other reads run on threads that
    /// may block. That costs a thread switch, which is negligible compared with waiting for a disk.
    final class ReadingPace: Sendable {
        /// The time after which a read counts as slow, because it must have waited for a disk.
        private static let patience = TimeAmount.milliseconds(1)
        private static let pause: Int64 = 100

        /// The uptime in nanoseconds at which reads are allowed again.
        private let resumes = Atomic<UInt64>(0)
        private let now: @Sendable () -> NIODeadline

        init(now: @escaping @Sendable () -> NIODeadline = { .now() }) {
            self.now = now
        }

        /// Calls `body` and returns its result, if reads are allowed now; otherwise returns `nil`.
        func read<Value>(_ body: () -> Value?) -> Value? {
            let start = now()
            guard start.uptimeNanoseconds >= resumes.load(ordering: .relaxed) else { return nil }
            defer {
                let end = now()
                let time = end - start
                if time > Self.patience {
                    let resumption = end + .nanoseconds(time.nanoseconds * Self.pause)
                    resumes.store(resumption.uptimeNanoseconds, ordering: .relaxed)
                }
            }
            return body()
        }
    }
}
