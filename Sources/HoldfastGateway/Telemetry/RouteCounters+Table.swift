import HTTPCache
import HTTPCacheSemantics
import HoldfastMetrics

/// The table of the metrics that are counted by route.
extension RouteCounters {
    /// A metric with a closed set of values for its label. A new metric is a case and its ``row``.
    enum Section: Int, CaseIterable {
        case exchanges
        case hits
        case forwards
        case sentBytes
        case stale
        case notStored
        case offlineRefused
        case offlineAnswerable
        case answerableLater
        case tunnels
    }

    struct Row: Sendable {
        let description: MetricDescription
        /// The labels of each value, in addition to the route.
        let labels: [[MetricLabels.Label]]

        fileprivate init(_ name: String, _ help: String, _ labels: [[MetricLabels.Label]]) {
            description = MetricDescription(name, .counter, help)
            self.labels = labels
        }

        fileprivate init(_ name: String, _ label: String, _ help: String, _ values: [String]) {
            self.init(name, help, values.map { [.init(label, $0)] })
        }
    }

    /// The rows, by the number of their section.
    static let rows = Section.allCases.map(\.row)
    /// The index of each section's first counter within the counters of a route, then the number of
    /// these counters.
    private static let starts = rows.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.labels.count) }

    /// The number of counters of a route.
    static let width = starts[rows.count]

    /// Returns the index of a value's counter within the counters of a route.
    static func cell(_ section: Section, _ value: Int) -> Int { starts[section.rawValue] + value }

    /// Returns the index of an outcome's reason in ``Section/stale``. A stale response that
    /// replaces its origin's error counts as such, even if a rule overrides a directive for it.
    static func staleDetail(_ outcome: CacheOutcome) -> Int {
        let detail = outcome.standsInForError ? .staleIfError : outcome.detail
        return detail.flatMap { staleDetails.firstIndex(of: $0.description) } ?? staleDetails.count - 1
    }

    /// Returns the index of a reason in ``Section/notStored``.
    static func reason(_ refusal: StorageRefusal) -> Int { reasons[refusal] ?? 0 }

    private static let reasons = Dictionary(
        uniqueKeysWithValues: StorageRefusal.allCases.enumerated().map { ($1, $0) }
    )

    fileprivate static let staleDetails: [String] = {
        let lifted = StaleProhibition.allCases.filter { $0.liftedBy != nil }
        let details: [CacheOutcome.Detail] = [
            .offline, .unreachable, .staleIfError, .staleWhileRevalidate, .slow, .guarded, .recent, .overloaded,
        ]
        return (details + lifted.map { CacheOutcome.Detail.despite($0.rawValue) }).map(\.description) + ["other"]
    }()
}

extension RouteCounters.Section {
    /// Whether the series of a route exist before anything was counted. Prometheus does not see the
    /// increase of a counter that first appears with the value 1.
    var startsAtZero: Bool {
        switch self {
        case .exchanges, .notStored, .offlineRefused, .offlineAnswerable: true
        case .hits, .forwards, .sentBytes, .stale, .answerableLater, .tunnels: false
        }
    }

    /// The metric's name, label, help and values.
    fileprivate var row: RouteCounters.Row {
        switch self {
        case .exchanges:
            .init(
                "holdfast_exchanges_total",
                "outcome",
                "Exchanges with the cache, by outcome.",
                ExchangeEnding.allCases.map(\.label)
            )
        case .hits:
            .init(
                "holdfast_hits_total",
                "tier",
                "Requests served from the store, by tier.",
                ExchangeRecord.Tier.allCases.map { "\($0)" }
            )
        case .forwards:
            .init(
                "holdfast_forwards_total",
                "fwd",
                "Requests that the store could not serve, by reason (RFC 9211).",
                CacheOutcome.ForwardReason.allCases.map(\.rawValue)
            )
        case .sentBytes:
            .init(
                "holdfast_sent_bytes_total",
                "source",
                "Bytes of content sent to clients, by source.",
                ExchangeFacts.Source.allCases.map { "\($0)" }
            )
        case .stale:
            .init(
                "holdfast_stale_served_total",
                "detail",
                "Stale responses served, by reason.",
                RouteCounters.staleDetails
            )
        case .notStored:
            .init(
                "holdfast_not_stored_total",
                "reason",
                "Origin responses that were not stored, by reason.",
                StorageRefusal.allCases.map(\.label)
            )
        case .offlineRefused:
            .init(
                "holdfast_offline_refused_total",
                "reason",
                "Requests that could not be answered without the origin, by reason.",
                OfflineRefusal.allCases.map(\.label)
            )
        case .offlineAnswerable:
            .init(
                "holdfast_offline_answerable_total",
                "GET requests answered while the origin was up, by whether the store alone could have answered them. "
                    + "When hits are frequent, one in 64 is examined and counts as 64.",
                [[.init("answer", "yes")]]
                    + OfflineRefusal.allCases.map { [.init("answer", "no"), .init("reason", $0.label)] }
            )
        case .answerableLater:
            .init(
                "holdfast_offline_answerable_later_total",
                "outage",
                "GET requests that the store alone could have answered after an outage of this length.",
                ["1h", "1d"]
            )
        case .tunnels:
            .init("holdfast_tunnels_total", "result", "Tunnels, by result.", TunnelEnding.allCases.map(\.rawValue))
        }
    }
}
