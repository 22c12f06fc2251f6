import LibC

/// Reports the process under the standard names of Prometheus client libraries.
///
/// https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
package struct ProcessMetrics: MetricsCollector {
    private let startTime: Double

    /// - Parameter startTime: the time at which the process started, in seconds since 1970.
    package init(startTime: Double) { self.startTime = startTime }

    /// Returns the metrics that the system provides. Others are omitted.
    package func families() async -> [MetricFamily] {
        var families = [
            family(
                "process_cpu_seconds_total",
                .counter,
                "User and system CPU time, in seconds.",
                cpuSeconds
            ),
            family(
                "process_start_time_seconds",
                .gauge,
                "Start time of the process, in seconds since 1970.",
                startTime
            ),
        ]
        if let bytes = Self.residentBytes {
            families.append(family("process_resident_memory_bytes", .gauge, "Resident memory, in bytes.", bytes))
        }
        if let count = Self.openDescriptors {
            families.append(family("process_open_fds", .gauge, "Open file descriptors.", count))
        }
        if let most = Self.mostDescriptors {
            families.append(family("process_max_fds", .gauge, "Limit of open file descriptors.", most))
        }
        return families
    }

    private func family(
        _ name: String,
        _ kind: MetricDescription.Kind,
        _ help: String,
        _ value: Double
    ) -> MetricFamily {
        MetricFamily(MetricDescription(name, kind, help), [MetricSeries(.number(value))])
    }

    private var cpuSeconds: Double {
        var usage = rusage()
        #if canImport(Glibc)
            _ = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            _ = getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// The resident memory in bytes. The second number in `/proc/self/statm` is the number of
    /// resident pages.
    private static var residentBytes: Double? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, CInt(line.count), file) != nil else { return nil }
        let numbers = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let parts = numbers.split(separator: " ")
        guard parts.count > 1, let pages = Double(parts[1]) else { return nil }
        return pages * Double(getpagesize())
    }

    private static var openDescriptors: Double? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Exclude `.`, `..` and the descriptor used for reading.
        return Double(count - 3)
    }

    private static var mostDescriptors: Double? {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        return getrlimit(resource, &limit) == 0 ? Double(limit.rlim_cur) : nil
    }
}
