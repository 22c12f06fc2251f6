import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// A gateway's state at a glance, as the page's overview shows it. Times are RFC 3339 text,
/// durations are in seconds, and ratios and shares are from 0 to 1.
struct OverviewReport: Sendable, Hashable, Codable {
    /// The source of responses.
    enum ResponsesFrom: String, Sendable, Hashable, Codable {
        /// No origin is unreachable.
        case origin
        /// Only some origins are unreachable, stored responses are preferred, or stored responses
        /// replaced errors from origins.
        case mixed
        /// Every origin is unreachable, or the mode is `offline`.
        case store
        case starting, ending
    }

    /// The traffic of a period that ends at the time of the report.
    struct Traffic: Sendable, Hashable, Codable {
        var seconds: Double
        var requests: Int64
        var requestsPerSecond: Double
        /// The ratio of hits to requests that used the cache; `nil` if there were no such requests.
        var hitRatio: Double?
        var p50Seconds: Double?
        var p99Seconds: Double?
        var staleServed: Int64
        var refused: Int64
        var originRequests: Int64

        init(_ stretch: TrafficRecorder.Stretch) {
            seconds = stretch.seconds.toDigits
            requests = stretch.totals[.requests]
            requestsPerSecond = (Double(requests) / stretch.seconds).toDigits
            hitRatio = stretch.totals.hitRatio?.toDigits
            p50Seconds = stretch.totals.quantile(0.5)?.toDigits
            p99Seconds = stretch.totals.quantile(0.99)?.toDigits
            staleServed = stretch.totals[.staleServed]
            refused = stretch.totals[.refused]
            originRequests = stretch.totals[.originRequests]
        }
    }

    /// The share of the last hour's requests that could be answered if origins were unreachable.
    struct Answerable: Sendable, Hashable, Codable {
        /// A reason why requests could not be answered, and their share of all requests.
        struct Missing: Sendable, Hashable, Codable {
            var reason: String
            var share: Double
        }

        var seconds: Double
        /// The number of requests that have a forecast.
        var requests: Int64
        /// The share if the outage began now.
        var now: Double?
        /// The share after an outage of an hour, and after an outage of a day.
        var hour: Double?
        var day: Double?
        /// The reasons, most frequent first.
        var missing: [Missing]

        init?(_ stretch: TrafficRecorder.Stretch) {
            let totals = stretch.totals
            guard totals[.forecast] > 0 else { return nil }
            seconds = stretch.seconds.toDigits
            requests = totals[.forecast]
            now = totals.share(of: .answerable, in: .forecast)?.toDigits
            hour = totals.share(of: .answerableAfterHour, in: .forecast)?.toDigits
            day = totals.share(of: .answerableAfterDay, in: .forecast)?.toDigits
            missing = TrafficTotals.reasons.enumerated().compactMap { index, reason in
                let count = totals[reason: index]
                guard count > 0 else { return nil }
                return Missing(reason: reason, share: (Double(count) / Double(totals[.forecast])).toDigits)
            }.sorted { ($1.share, $0.reason) < ($0.share, $1.reason) }
        }
    }

    struct Store: Sendable, Hashable, Codable {
        /// The store's condition: `usable`, `readOnly`, `notWritable`, `full`, `evicting`,
        /// `replaced` or `unreadable`.
        var condition: String
        var bytes: Int64?
        var budget: Int64?
        var responses: Int?
        var pinned: Int?
        var damaged: Int?
        /// The number of entries that may be served only while their origin is unreachable.
        var stale: Int?
        /// The number of entries evicted since the process started.
        var evicted: Int?
        var countedAt: String?

        init(_ condition: StoreCondition, _ reading: StoreWatch.Reading?) {
            self.condition = condition.word
            guard let reading else { return }
            let counted = reading.statistics
            (bytes, budget, responses) = (counted.usedBytes, counted.budget, counted.responses)
            (pinned, damaged, evicted) = (counted.pinned, counted.damagedEntries, counted.evictedEntries)
            stale = counted.usableStale
            countedAt = EndTime.text(reading.at)
        }
    }

    struct Memory: Sendable, Hashable, Codable {
        var bytes: Int64?
        var budget: Int64?
        /// The process's memory in bytes; `nil` if the operating system does not report it.
        var processBytes: Int64?
    }

    /// The control plane's addresses, for the commands that the page shows.
    struct Control: Sendable, Hashable, Codable {
        /// The path of the Unix socket.
        var socket: String?
        /// The host and port; `nil` if the control plane has no port.
        var listen: String?
    }

    var at: String
    /// A summary for people, in sentences.
    var summary: String
    var responsesFrom: ResponsesFrom
    var phase: String
    var version: String
    var startedAt: String
    var uptimeSeconds: Int64
    var listening: String?
    var control: Control
    var mode: ModeReport
    var staleness: StalenessReport
    /// The first origins. Origins that are not reachable come first.
    var origins: [OriginsReport.Origin]
    var originCount: Int
    var unreachableCount: Int
    var outage: OutageReport?
    var recent: Traffic?
    var hour: Traffic?
    var offlineAnswerable: Answerable?
    var store: Store
    var memory: Memory
    var connections: Int64
    var activeRequests: Int64
    var configuration: StatusReport.Configuration
    var fleet: FleetState?
    var recordedSince: String

    private static let shownOrigins = 20

    private static func count(_ responses: Int64) -> String {
        responses == 1 ? "1 response" : "\(StatusReport.number(responses)) responses"
    }

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - status: the same state in more detail.
    ///   - reading: the store's statistics; `nil` if they cannot be read.
    init(
        _ status: StatusReport,
        _ conditions: [OriginCondition],
        _ condition: StoreCondition,
        _ reading: StoreWatch.Reading?,
        _ past: TrafficRecorder.Past,
        _ control: Control
    ) {
        self.control = control
        let origins = OriginsReport(conditions, status.mode.mode, drains: status.drains).origins
        at = EndTime.text(past.reading.at)
        (summary, phase, version) = (status.summary, status.phase, status.version)
        (startedAt, uptimeSeconds, listening) = (status.startedAt, status.uptimeSeconds, status.listening)
        (mode, staleness) = (status.mode, status.staleness)
        self.origins = Array(origins.prefix(Self.shownOrigins))
        originCount = conditions.count
        unreachableCount = conditions.filter { $0.reachability == .unreachable }.count
        let instead = past.recent.map { $0.totals[.errorServed] } ?? 0
        if instead > 0, status.phase == "serving" {
            summary +=
                " \(Self.count(instead)) in the last minute came from the store because origins responded with errors."
        }
        responsesFrom = ResponsesFrom(
            phase: status.phase,
            status.mode.mode,
            unreachable: unreachableCount,
            of: originCount,
            standsIn: instead > 0
        )
        outage = OutageReport(past.outages)
        recent = past.recent.map(Traffic.init)
        hour = past.hour.map(Traffic.init)
        offlineAnswerable = past.hour.flatMap(Answerable.init)
        store = Store(condition, reading)
        memory = Memory(
            bytes: reading?.statistics.residentBytes,
            budget: reading?.statistics.memoryBudget,
            processBytes: past.reading.gauges.processBytes
        )
        (connections, activeRequests) = (past.reading.gauges.connections, past.reading.gauges.activeRequests)
        (configuration, fleet) = (status.configuration, status.fleet)
        recordedSince = EndTime.text(past.since)
    }
}

extension OverviewReport.ResponsesFrom {
    init(phase: String, _ mode: OfflineMode, unreachable: Int, of origins: Int, standsIn: Bool) {
        switch (phase, mode) {
        case ("starting", _): self = .starting
        case ("ending", _): self = .ending
        case (_, .offline): self = .store
        case (_, _) where unreachable > 0: self = unreachable == origins ? .store : .mixed
        case (_, .preferStored): self = .mixed
        case (_, _) where standsIn: self = .mixed
        default: self = .origin
        }
    }
}

extension OutageReport {
    init?(_ outages: [OutageLog.Outage]) {
        guard let first = outages.min(by: { $0.since < $1.since }) else { return nil }
        since = EndTime.text(first.since)
        fromStore = first.served
        refused = first.refused
        oldestSeconds = outages.map(\.oldestServed).max() ?? 0
    }
}
