import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The processor time of the calling thread, for tests of a callback's cost. Other work on the
/// machine is not counted.
package enum ProcessorTime {
    /// The maximum time that a callback may block an event loop, a thread for disk access, or a
    /// callback of the control plane: 20 ms, or ten times as long in a debug build.
    package static let limit: Duration = {
        #if DEBUG
            .milliseconds(200)
        #else
            .milliseconds(20)
        #endif
    }()

    /// Returns the processor time since the thread started.
    package static func ofThread() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Returns the processor time that the calling thread spends on a body.
    package static func of(_ body: () throws -> Void) rethrows -> Duration {
        let start = ofThread()
        try body()
        return ofThread() - start
    }

    /// Returns the steps of a body that take longer than ``limit``, each with its time.
    ///
    /// A thread that shares its core with another takes more processor time for the same work, and
    /// so does one whose machine lends the core to others. So each time is divided by
    /// ``slowdown()``, and the body runs again, at most five times, while a step has been too long
    /// each time; the shortest time of a step counts. The body must do the same steps from the same
    /// state each time it runs.
    package static func stepsOverLimit(
        slowdown: () -> Double = slowdown,
        of body: (Steps) async throws -> Void
    ) async rethrows -> [String] {
        var shortest: [String: Duration] = [:]
        for _ in 0..<5 {
            let steps = Steps()
            let before = slowdown()
            try await body(steps)
            let factor = (before + slowdown()) / 2
            shortest.merge(steps.longest.mapValues { $0 / factor }, uniquingKeysWith: min)
            if shortest.values.allSatisfy({ $0 < limit }) { return [] }
        }
        return shortest.filter { $0.value >= limit }.map { "\($0.key): \($0.value)" }.sorted()
    }

    /// How many times longer than on an idle machine the same work takes now; at least 1. In a
    /// release build, always 1.
    package static func slowdown() -> Double {
        #if DEBUG
            // FNV-1a of some bytes takes 2 ms in a debug build where ``limit`` was set.
            let time = of {
                var hash: UInt64 = 0xCBF2_9CE4_8422_2325
                let bytes = Array("the bytes of a reference job".utf8)
                for _ in 0..<2_000 { for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 } }
                precondition(hash != 0)
            }
            return max(1, time / .milliseconds(2))
        #else
            return 1
        #endif
    }

    /// The steps of one run of a body.
    package final class Steps: Sendable {
        private let times = Mutex<[String: Duration]>([:])

        /// The longest time of each step.
        var longest: [String: Duration] { times.withLock { $0 } }

        /// Adds a step; of steps with the same name, the longest counts.
        package func add(_ name: String, _ time: Duration) {
            times.withLock { $0[name] = max($0[name] ?? .zero, time) }
        }
    }
}
