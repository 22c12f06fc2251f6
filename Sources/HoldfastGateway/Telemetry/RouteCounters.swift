import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastMetrics

/// Counters by route and one other label, in one array. It belongs to one event loop.
struct RouteCounters: Sendable {
    /// A metric with a closed set of values for its label.
    struct Section: Sendable {
        let description: MetricDescription
        /// The labels of each value, in addition to the route.
        fileprivate let labels: [[MetricLabels.Label]]
        fileprivate let start: Int

        /// The indexes of the values.
        var values: Range<Int> { labels.indices }
    }

    private var cells = [UInt64](repeating: 0, count: RouteLabels.count * width)
    /// The cells of a hot-table hit within the cells of its route, computed once, because this is
    /// the fastest path.
    private let hit = exchanges.start + ExchangeEnding.hit.rawValue
    private let hotHit = hits.start + ExchangeRecord.Tier.hot.rawValue
    private let cacheBytes = sentBytes.start + ExchangeFacts.Source.cache.rawValue

    /// The hits of each route since the last sample.
    private var unseen = [UInt64](repeating: 0, count: RouteLabels.count)
    /// The number of hits that may still be sampled in this second, however many hits there are.
    private var looks = looksPerSecond
    /// The routes with a sampled hit in this second.
    private var looked = [Bool](repeating: false, count: RouteLabels.count)

    /// Counts a hot-table hit.
    ///
    /// - Parameter isForecast: whether such hits get an offline forecast. Only hits of GET do.
    ///   Other hits are not sampled, so that no GET represents them.
    /// - Returns: see ``takeSample(of:)``.
    mutating func addHotHit(_ bytes: Int, of route: RouteLabel, isForecast: Bool) -> UInt64? {
        let first = route * Self.width
        cells[first + hit] += 1
        cells[first + hotHit] += 1
        cells[first + cacheBytes] += UInt64(bytes)
        return isForecast ? takeSample(of: route) : nil
    }

    /// At least one in this many hits of a route is sampled, and represents all of them.
    static let sampling: UInt64 = 64
    /// The number of hits, of all routes, that an event loop samples per second before it samples
    /// only one in ``sampling``. If there are few hits, each one is sampled.
    static let looksPerSecond = 16

    /// Records a hit of a GET request. The first hit of each route in a second is sampled, however
    /// many hits other routes have.
    ///
    /// - Returns: if this hit is sampled, the number of hits that it represents; otherwise `nil`.
    ///   Together, the samples represent all such hits of the route.
    mutating func takeSample(of route: RouteLabel) -> UInt64? {
        let count = unseen[route] + 1
        guard looks > 0 || count >= Self.sampling || !looked[route] else {
            unseen[route] = count
            return nil
        }
        looks = max(0, looks - 1)
        looked[route] = true
        unseen[route] = 0
        return count
    }

    /// Starts a new second for sampling. Call this every second.
    mutating func renewLooks() {
        looks = Self.looksPerSecond
        for route in looked.indices { looked[route] = false }
    }

    /// Counts the result that a request would have had in an outage.
    mutating func add(_ forecast: OfflineForecast, of route: RouteLabel, weight: UInt64) {
        guard let refusal = forecast.refusal.map({ OfflineRefusal($0) ?? .notStored }) else {
            add(Self.offlineAnswerable, 0, of: route, weight)
            if forecast.isAnswerableAfterHour { add(Self.answerableLater, 0, of: route, weight) }
            if forecast.isAnswerableAfterDay { add(Self.answerableLater, 1, of: route, weight) }
            return
        }
        addUnanswerable(refusal, of: route, weight: weight)
    }

    /// Counts a request that could not have been answered in an outage.
    mutating func addUnanswerable(_ refusal: OfflineRefusal, of route: RouteLabel, weight: UInt64 = 1) {
        guard let index = OfflineRefusal.allCases.firstIndex(of: refusal) else { return }
        add(Self.offlineAnswerable, 1 + index, of: route, weight)
    }

    /// Adds to one counter.
    ///
    /// - Parameter value: the index of the label's value in its section.
    mutating func add(_ section: Section, _ value: Int, of route: RouteLabel, _ amount: UInt64 = 1) {
        cells[route * Self.width + section.start + value] += amount
    }

    /// Adds another loop's counters.
    mutating func add(_ other: RouteCounters) {
        for (index, count) in other.cells.enumerated() { cells[index] += count }
    }

    /// Returns the metrics. Of the series that are still 0, only those of exchanges are included,
    /// so that the first failure shows up as an increase.
    ///
    /// - Parameter names: the names of the routes, by their labels.
    func families(_ names: [String]) -> [MetricFamily] {
        Self.all.map { section in
            var series: [MetricSeries] = []
            for (route, name) in names.enumerated() {
                for (index, labels) in section.labels.enumerated() {
                    let count = cells[route * Self.width + section.start + index]
                    guard count > 0 || (section.start == Self.exchanges.start && route > RouteLabels.other) else {
                        continue
                    }
                    let all = [("route", name)] + labels.map { ($0.name, $0.value) }
                    series.append(MetricSeries(MetricLabels(all), .integer(Int64(count))))
                }
            }
            return MetricFamily(section.description, series)
        }
    }

    // MARK: Sections

    static let exchanges = Section(
        "holdfast_exchanges_total",
        "outcome",
        "Exchanges with the cache, by outcome.",
        ExchangeEnding.allCases.map(\.label),
        after: nil
    )
    static let hits = Section(
        "holdfast_hits_total",
        "tier",
        "Requests served from the store, by tier.",
        ExchangeRecord.Tier.allCases.map { "\($0)" },
        after: exchanges
    )
    static let forwards = Section(
        "holdfast_forwards_total",
        "fwd",
        "Requests that the store could not serve, by reason (RFC 9211).",
        CacheOutcome.ForwardReason.allCases.map(\.rawValue),
        after: hits
    )
    static let sentBytes = Section(
        "holdfast_sent_bytes_total",
        "source",
        "Bytes of content sent to clients, by source.",
        ExchangeFacts.Source.allCases.map { "\($0)" },
        after: forwards
    )
    static let stale = Section(
        "holdfast_stale_served_total",
        "detail",
        "Stale responses served, by reason.",
        staleDetails,
        after: sentBytes
    )
    static let notStored = Section(
        "holdfast_not_stored_total",
        "reason",
        "Origin responses that were not stored, by reason.",
        StorageRefusal.allCases.map(\.label),
        after: stale
    )
    static let offlineRefused = Section(
        "holdfast_offline_refused_total",
        "reason",
        "Requests that could not be answered without the origin, by reason.",
        OfflineRefusal.allCases.map(\.label),
        after: notStored
    )

    static let offlineAnswerable = Section(
        "holdfast_offline_answerable_total",
        "GET requests answered while the origin was up, by whether the store alone could have answered them. "
            + "When hits are frequent, one in 64 is examined and counts as 64.",
        [[.init("answer", "yes")]]
            + OfflineRefusal.allCases.map { [.init("answer", "no"), .init("reason", $0.label)] },
        after: offlineRefused
    )
    static let answerableLater = Section(
        "holdfast_offline_answerable_later_total",
        "outage",
        "GET requests that the store alone could have answered after an outage of this length.",
        ["1h", "1d"],
        after: offlineAnswerable
    )

    static let tunnels = Section(
        "holdfast_tunnels_total",
        "result",
        "Tunnels, by result.",
        TunnelEnding.allCases.map(\.rawValue),
        after: answerableLater
    )

    static let all = [
        exchanges, hits, forwards, sentBytes, stale, notStored, offlineRefused, offlineAnswerable, answerableLater,
        tunnels,
    ]
    private static let width = tunnels.end

    /// Returns the index of an outcome's reason in ``stale``. A stale response that replaces its
    /// origin's error counts as such, even if a rule overrides a directive for it.
    static func staleDetail(_ outcome: CacheOutcome) -> Int {
        let detail = outcome.standsInForError ? .staleIfError : outcome.detail
        return detail.flatMap { staleDetails.firstIndex(of: $0.description) } ?? staleDetails.count - 1
    }

    /// Returns the index of a reason in ``notStored``.
    static func reason(_ refusal: StorageRefusal) -> Int { reasons[refusal] ?? 0 }

    private static let reasons = Dictionary(
        uniqueKeysWithValues: StorageRefusal.allCases.enumerated().map { ($1, $0) }
    )

    private static let staleDetails: [String] = {
        let lifted = StaleProhibition.allCases.filter { $0.liftedBy != nil }
        let details: [CacheOutcome.Detail] = [
            .offline, .unreachable, .staleIfError, .staleWhileRevalidate, .slow, .guarded, .recent, .overloaded,
        ]
        return (details + lifted.map { CacheOutcome.Detail.despite($0.rawValue) }).map(\.description) + ["other"]
    }()
}

extension RouteCounters.Section {
    fileprivate init(_ name: String, _ label: String, _ help: String, _ values: [String], after other: Self?) {
        self.init(name, help, values.map { [.init(label, $0)] }, after: other)
    }

    fileprivate init(_ name: String, _ help: String, _ labels: [[MetricLabels.Label]], after other: Self?) {
        self.init(
            description: MetricDescription(name, .counter, help),
            labels: labels,
            start: other?.end ?? 0
        )
    }

    fileprivate var end: Int { start + labels.count }
}

extension ExchangeRecord {
    /// Adds the exchange to the counters.
    func count(in counters: inout RouteCounters) {
        guard let facts else { return }
        counters.add(RouteCounters.sentBytes, facts.source.rawValue, of: route, UInt64(sentBytes))
        guard let ending = facts.ending else { return }
        counters.add(RouteCounters.exchanges, ending.rawValue, of: route)
        if let tier { counters.add(RouteCounters.hits, tier.rawValue, of: route) }
        if let forward = facts.outcome.forward, !facts.outcome.isHit,
            let index = CacheOutcome.ForwardReason.allCases.firstIndex(of: forward)
        {
            counters.add(RouteCounters.forwards, index, of: route)
        }
        if facts.isStale {
            counters.add(RouteCounters.stale, RouteCounters.staleDetail(facts.outcome), of: route)
        }
        if let reason = facts.outcome.notStored {
            counters.add(RouteCounters.notStored, RouteCounters.reason(reason), of: route)
        }
        if let refusal = facts.refusal, let index = OfflineRefusal.allCases.firstIndex(of: refusal) {
            counters.add(RouteCounters.offlineRefused, index, of: route)
        }
    }
}

extension ExchangeRecord {
    /// Counts the request for its rules. If its origin was reachable, also counts the result that
    /// the request would have had in an outage.
    ///
    /// - Parameter now: called only if there is something to forecast.
    func countForecast(in counters: inout RouteCounters, at now: () -> Timestamp) {
        guard let facts, let ending = facts.ending else { return }
        var weight: UInt64 = 1
        if ending == .hit, request?.method == .get {
            guard let sample = counters.takeSample(of: route) else { return }
            weight = sample
        }
        facts.forecastSubject?.countUses(Int64(weight))
        guard request?.method == .get else { return }
        switch ending {
        case .hit: break
        case .staleHit where facts.outcome.isOfOutage: return
        case .staleHit, .validated, .fetched, .collapsed, .bypass: break
        case .refused, .failed: return
        }
        guard let subject = facts.forecastSubject else { return counters.addUnanswerable(.notStored, of: route) }
        counters.add(subject.forecast(at: now()), of: route, weight: weight)
    }
}

extension CacheOutcome {
    /// Whether a stored response was served because its origin was unreachable, or because the mode
    /// is `offline`.
    var isOfOutage: Bool {
        guard let detail, !standsInForError else { return false }
        return detail == .offline || detail == .unreachable || detail == .invalidated
            || detail.description.hasPrefix("despite")
    }
}
