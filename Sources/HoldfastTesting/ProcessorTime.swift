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
}
