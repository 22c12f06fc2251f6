#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The processor time of all threads of this process so far, in microseconds.
func processorTime() -> Double {
    var usage = rusage()
    #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
        getrusage(RUSAGE_SELF, &usage)
    #endif
    func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1e6 + Double(time.tv_usec) }
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
}

/// The processor time of one of `count` operations, in microseconds.
func processorTime(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let start = processorTime()
    try await body()
    return (processorTime() - start) / Double(count)
}

/// The wall-clock time of one of `count` operations, in microseconds.
func time(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    let duration = ContinuousClock.now - start
    return (Double(duration.components.seconds) * 1e6 + Double(duration.components.attoseconds) / 1e12) / Double(count)
}

extension [Double] {
    var median: Double { sorted()[count / 2] }
}

/// The number with one digit after the point.
func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
