import HTTPCache
import HTTPCacheSemantics

/// A gateway's state at a glance, as the top of the page shows it. Instants are RFC 3339 text,
/// durations are in seconds, and shares are from 0 to 1.
struct OverviewReport: Sendable, Hashable, Codable {
    /// Where responses come from.
    enum ResponsesFrom: String, Sendable, Hashable, Codable {
        /// Every origin is reachable.
        case origin
        /// Some origins are reachable, or stored responses are preferred, or stored responses
        /// replace errors from origins.
        case mixed
        /// No origin is reachable, or the mode uses none.
        case store
        case starting, ending
    }

    /// The traffic of a period that ends now.
    struct Traffic: Sendable, Hashable, Codable {
        var seconds: Double
        var requests: Int64
        var requestsPerSecond: Double
        /// The share of requests to the cache that were hits; `nil` if there were no requests.
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

    /// The share of the last hour's requests that could be answered if all origins were down.
    struct Answerable: Sendable, Hashable, Codable {
        /// Why requests could not be answered.
        struct Missing: Sendable, Hashable, Codable {
            var reason: String
            var share: Double
        }

        var seconds: Double
        /// The number of requests that were considered.
        var requests: Int64
        /// If the outage began now.
        var now: Double?
        /// If the outage had lasted an hour, or a day.
        var hour: Double?
        var day: Double?
        /// The reasons, the most frequent first.
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

    /// The current outages combined.
    struct Outage: Sendable, Hashable, Codable {
        /// When the first of them began.
        var since: String
        /// Stale responses from the store because an origin was unreachable.
        var fromStore: Int64
        /// Requests that could not be answered.
        var refused: Int64
        /// The greatest age of a response that was served.
        var oldestSeconds: Int64

        init?(_ outages: [OutageLog.Outage]) {
            guard let first = outages.min(by: { $0.since < $1.since }) else { return nil }
            since = EndTime.text(first.since)
            fromStore = first.served
            refused = first.refused
            oldestSeconds = outages.map(\.oldestServed).max() ?? 0
        }
    }

    struct Store: Sendable, Hashable, Codable {
        /// `usable`, `readOnly`, `notWritable` or `unreadable`.
        var condition: String
        var bytes: Int64?
        var budget: Int64?
        var responses: Int?
        var pinned: Int?
        var damaged: Int?
        /// Entries that may only be served while their origin is unreachable.
        var stale: Int?
        /// Entries evicted since the process started.
        var evicted: Int?
        var countedAt: String?

        init(_ condition: StoreCondition, _ reading: StoreWatch.Reading?) {
            self.condition = condition.word
            guard let reading else { return }
            let summary = reading.measures.summary
            (bytes, budget, responses) = (summary.usedBytes, summary.budget, summary.responses)
            (pinned, damaged, evicted) = (summary.pinned, summary.damaged, summary.evicted)
            stale = summary.usableStale
            countedAt = EndTime.text(reading.at)
        }
    }

    struct Memory: Sendable, Hashable, Codable {
        var bytes: Int64?
        var budget: Int64?
        /// The process's memory in bytes; `nil` if the system does not report it.
        var processBytes: Int64?
    }

    /// The control plane's addresses, for commands.
    struct Control: Sendable, Hashable, Codable {
        /// The path of the Unix socket.
        var socket: String?
        /// Host and port; `nil` if there is no port.
        var listen: String?
    }

    var at: String
    /// A summary for people.
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
    /// The first origins, unreachable ones first.
    var origins: [OriginsReport.Origin]
    var originCount: Int
    var unreachableCount: Int
    var outage: Outage?
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

    /// - Parameters:
    ///   - status: the same state in more detail.
    ///   - measures: the store's numbers; `nil` if they cannot be read.
    init(
        _ status: StatusReport,
        _ conditions: [OriginCondition],
        _ condition: StoreCondition,
        _ measures: StoreWatch.Reading?,
        _ past: TrafficRecorder.Past,
        _ control: Control
    ) {
        self.control = control
        let origins = OriginsReport(conditions, status.mode.mode).origins
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
        outage = Outage(past.outages)
        recent = past.recent.map(Traffic.init)
        hour = past.hour.map(Traffic.init)
        offlineAnswerable = past.hour.flatMap(Answerable.init)
        store = Store(condition, measures)
        memory = Memory(
            bytes: measures?.measures.summary.residentBytes,
            budget: measures?.measures.memoryBudget,
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
