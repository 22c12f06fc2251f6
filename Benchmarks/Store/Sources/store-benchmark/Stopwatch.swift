#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Wall-clock time, and processor time of all threads of the process, since it was made.
struct Stopwatch {
    private let wall = seconds(of: CLOCK_MONOTONIC)
    private let processor = seconds(of: CLOCK_PROCESS_CPUTIME_ID)

    /// The time of one of `count` operations.
    func report(count: Int) -> Report {
        let wall = seconds(of: CLOCK_MONOTONIC) - wall
        let processor = seconds(of: CLOCK_PROCESS_CPUTIME_ID) - processor
        return [
            "count": Double(count), "wall": wall, "processor": processor, "rate": Double(count) / wall,
            "processorRate": Double(count) / processor,
        ]
    }

    var elapsed: Double { seconds(of: CLOCK_MONOTONIC) - wall }
}

extension Report: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, Double)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

private func seconds(of clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The time of the monotonic clock in nanoseconds.
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// The times of single operations.
struct Latencies: Sendable {
    private var nanoseconds: [Int64] = []

    mutating func note(_ duration: Int64) { nanoseconds.append(duration) }

    mutating func merge(_ other: Latencies) { nanoseconds += other.nanoseconds }

    var count: Int { nanoseconds.count }

    /// The time in microseconds that a share of the operations did not exceed.
    func percentile(_ share: Double) -> Double {
        if nanoseconds.isEmpty { return 0 }
        let sorted = nanoseconds.sorted()
        return Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1000
    }
}
