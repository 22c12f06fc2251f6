import HTTPCache
import HTTPCacheSemantics
import HoldfastMetrics

/// The counters that the page shows, since the gateway started. Counters only grow, so the
/// difference between two readings covers the time between them.
struct TrafficTotals: Sendable, Hashable {
    /// A counter.
    enum Counter: Int, CaseIterable, Sendable {
        /// The completed client requests.
        case requests
        /// The completed requests that used the cache.
        case exchanges
        case hits
        case staleServed
        /// The stale responses that were served because their origin responded with an error.
        case errorServed
        /// The requests that could not be answered without their origin.
        case refused
        case originRequests
        /// The requests with an offline forecast. Sampled requests count with their weight.
        case forecast
        /// The forecast requests that could be answered if the origin became unreachable now.
        case answerable
        /// The forecast requests that could still be answered after an outage of an hour, and of a
        /// day.
        case answerableAfterHour, answerableAfterDay
    }

    /// The reasons why requests could not be answered in an outage. `other` represents all unknown
    /// reasons.
    static let reasons = ["not-stored"] + StaleProhibition.allCases.map(\.rawValue) + ["limit", "other"]
    private static let bounds = MetricDescription.durationBounds
    private static let firstReason = Counter.allCases.count
    private static let firstBucket = firstReason + reasons.count
    private static let count = firstBucket + bounds.count + 1

    /// The approximate size of these totals, in bytes.
    static let bytes = 32 + count * MemoryLayout<Int64>.stride

    /// The values of the counters, then of the reasons, then of the duration buckets.
    private var values = [Int64](repeating: 0, count: count)

    /// Creates totals that are all zero.
    init() {}

    subscript(_ counter: Counter) -> Int64 {
        get { values[counter.rawValue] }
        set { values[counter.rawValue] = newValue }
    }

    /// The number of requests that could not be answered in an outage for a reason.
    subscript(reason index: Int) -> Int64 { values[Self.firstReason + index] }

    /// Returns the growth since an earlier reading.
    static func - (later: TrafficTotals, earlier: TrafficTotals) -> TrafficTotals {
        var difference = TrafficTotals()
        for index in later.values.indices {
            // Collectors are read one after the other, so a sum may lag behind its parts. No growth
            // is negative.
            difference.values[index] = max(0, later.values[index] - earlier.values[index])
        }
        return difference
    }

    /// The share of exchanges that were hits; `nil` if there were no exchanges. A stale response
    /// that replaces an origin's error is not a hit, because the request was forwarded. RFC 9211
    /// §2.1
    var hitRatio: Double? { share(of: self[.hits] - self[.errorServed], in: .exchanges) }

    func share(of part: Counter, in whole: Counter) -> Double? { share(of: self[part], in: whole) }

    private func share(of part: Int64, in whole: Counter) -> Double? {
        self[whole] > 0 ? min(1, Double(max(0, part)) / Double(self[whole])) : nil
    }

    /// Returns the duration, in seconds, within which a share of the requests ended. The value is
    /// interpolated within a bucket, and is never above the last bucket's bound. Returns `nil` if
    /// there were no requests.
    func quantile(_ share: Double) -> Double? {
        let counts = values[Self.firstBucket...]
        let all = counts.reduce(0, +)
        guard all > 0 else { return nil }
        let rank = share * Double(all)
        var (before, lower) = (0.0, 0.0)
        for (count, bound) in zip(counts, Self.bounds) {
            let upTo = before + Double(count)
            if upTo >= rank, count > 0 { return lower + (bound - lower) * (rank - before) / Double(count) }
            (before, lower) = (upTo, bound)
        }
        return Self.bounds.last
    }
}

// MARK: Reading

extension TrafficTotals {
    /// Reads the totals from one snapshot of the metrics.
    init(_ families: [MetricFamily]) {
        for family in families {
            for series in family.series { add(series, of: family.description.name) }
        }
    }

    private mutating func add(_ series: MetricSeries, of name: String) {
        switch name {
        case "holdfast_exchanges_total":
            self[.exchanges] += series.count
            if ["hit", "stale-hit"].contains(series["outcome"]) { self[.hits] += series.count }
        case "http_server_request_duration_seconds":
            self[.requests] += series.count
            guard case .histogram(let counts, _) = series.value else { return }
            for (index, count) in counts.prefix(Self.bounds.count + 1).enumerated() {
                values[Self.firstBucket + index] += Int64(clamping: count)
            }
        case "holdfast_stale_served_total":
            self[.staleServed] += series.count
            if series["detail"] == CacheOutcome.Detail.staleIfError.description { self[.errorServed] += series.count }
        case "holdfast_offline_refused_total": self[.refused] += series.count
        case "http_client_request_duration_seconds": self[.originRequests] += series.count
        case "holdfast_offline_answerable_total":
            self[.forecast] += series.count
            if series["answer"] == "yes" {
                self[.answerable] += series.count
            } else {
                let index = Self.reasons.firstIndex(of: series["reason"]) ?? Self.reasons.count - 1
                values[Self.firstReason + index] += series.count
            }
        case "holdfast_offline_answerable_later_total":
            self[series["outage"] == "1d" ? .answerableAfterDay : .answerableAfterHour] += series.count
        default: break
        }
    }
}

/// Metrics that can also fall, at one point in time.
struct TrafficGauges: Sendable, Hashable {
    var connections: Int64 = 0
    var activeRequests: Int64 = 0
    /// The process's memory in bytes; `nil` if the operating system does not report it.
    var processBytes: Int64?

    init(_ families: [MetricFamily]) {
        for family in families {
            for series in family.series {
                switch family.description.name {
                case "holdfast_client_connections": connections += series.count
                case "http_server_active_requests": activeRequests += series.count
                case "process_resident_memory_bytes": processBytes = series.count
                default: break
                }
            }
        }
    }
}

extension MetricSeries {
    /// The value of a label; empty if the series does not have the label.
    fileprivate subscript(_ name: String) -> String { labels.all.first { $0.name == name }?.value ?? "" }

    /// The value as an integer. For a histogram, the number of observations.
    fileprivate var count: Int64 {
        switch value {
        case .integer(let number): number
        case .number(let number): Int64(exactly: number.rounded()) ?? 0
        case .histogram(let counts, _): Int64(clamping: counts.reduce(0, +))
        }
    }
}
