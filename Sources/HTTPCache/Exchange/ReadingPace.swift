import NIOCore
import Synchronization

/// Whether callers' threads may read from a disk: for as long as that takes microseconds, as it
/// does where the system has cached what is read.
///
/// A read that took long is followed by none for a hundred times as long, so that callers' threads
/// wait for a disk one hundredth of the time at most. What is not read here is read where nobody is
/// kept waiting, which costs changing threads, and does not matter beside a disk that is waited
/// for.
final class ReadingPace: Sendable {
    /// What takes longer waited for a disk.
    private static let patience = TimeAmount.milliseconds(1)
    private static let pause: Int64 = 100

    /// Uptime in nanoseconds from which on reads are allowed again.
    private let resumes = Atomic<UInt64>(0)
    private let now: @Sendable () -> NIODeadline

    init(now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.now = now
    }

    /// Reads, or does not.
    func read<Value>(_ body: () -> Value?) -> Value? {
        let start = now()
        guard start.uptimeNanoseconds >= resumes.load(ordering: .relaxed) else { return nil }
        defer {
            let end = now()
            let time = end - start
            if time > Self.patience {
                resumes.store((end + .nanoseconds(time.nanoseconds * Self.pause)).uptimeNanoseconds, ordering: .relaxed)
            }
        }
        return body()
    }
}
