#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The processor time of the calling thread, for tests of what a callback costs. Other work on the
/// machine does not count.
package enum ProcessorTime {
    /// The longest time that a callback may hold an event loop, a thread that waits for disks, or a
    /// callback of the control plane. 20 ms; ten times as long in a debug build
    package static let limit: Duration = {
        #if DEBUG
            .milliseconds(200)
        #else
            .milliseconds(20)
        #endif
    }()

    /// The time since the thread began.
    package static func ofThread() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The time that the calling thread takes for a body.
    package static func of(_ body: () throws -> Void) rethrows -> Duration {
        let start = ofThread()
        try body()
        return ofThread() - start
    }
}
