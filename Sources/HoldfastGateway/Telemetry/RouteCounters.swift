import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastMetrics

/// Counters by route and one other label, in one array. It belongs to one event loop.
struct RouteCounters: Sendable {
    private var cells = [UInt64](repeating: 0, count: RouteLabels.count * width)
    /// The cells of a hot-table hit within the cells of its route, computed once, because this is
    /// the fastest path.
    private let hit = cell(.exchanges, ExchangeEnding.hit.rawValue)
    private let hotHit = cell(.hits, ExchangeRecord.Tier.hot.rawValue)
    private let cacheBytes = cell(.sentBytes, ExchangeFacts.Source.cache.rawValue)

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
            add(.offlineAnswerable, 0, of: route, weight)
            if forecast.isAnswerableAfterHour { add(.answerableLater, 0, of: route, weight) }
            if forecast.isAnswerableAfterDay { add(.answerableLater, 1, of: route, weight) }
            return
        }
        addUnanswerable(refusal, of: route, weight: weight)
    }

    /// Counts a request that could not have been answered in an outage.
    mutating func addUnanswerable(_ refusal: OfflineRefusal, of route: RouteLabel, weight: UInt64 = 1) {
        guard let index = OfflineRefusal.allCases.firstIndex(of: refusal) else { return }
        add(.offlineAnswerable, 1 + index, of: route, weight)
    }

    /// Adds to one counter.
    ///
    /// - Parameter value: the index of the label's value in its section.
    mutating func add(_ section: Section, _ value: Int, of route: RouteLabel, _ amount: UInt64 = 1) {
        cells[route * Self.width + Self.cell(section, value)] += amount
    }

    /// Adds another loop's counters.
    mutating func add(_ other: RouteCounters) {
        for (index, count) in other.cells.enumerated() { cells[index] += count }
    }

    /// Returns the metrics. Of the series that are still 0, only those of sections that alerts use
    /// are included, so that the first failure shows up as an increase.
    ///
    /// - Parameter names: the names of the routes, by their labels.
    func families(_ names: [String]) -> [MetricFamily] {
        // Once every name is assigned, other routes count as 'other'.
        let first = names.count < RouteLabels.count ? RouteLabels.other + 1 : RouteLabels.other
        return zip(Section.allCases, Self.rows).map { section, row in
            var series: [MetricSeries] = []
            for (route, name) in names.enumerated() {
                let startsAtZero = section.startsAtZero && route >= first
                for (value, labels) in row.labels.enumerated() {
                    let count = cells[route * Self.width + Self.cell(section, value)]
                    guard count > 0 || startsAtZero else { continue }
                    let all = [("route", name)] + labels.map { ($0.name, $0.value) }
                    series.append(MetricSeries(MetricLabels(all), .integer(Int64(count))))
                }
            }
            return MetricFamily(row.description, series)
        }
    }
}

extension ExchangeRecord {
    /// Adds the exchange to the counters.
    func count(in counters: inout RouteCounters) {
        if let tunnelEnding, let index = TunnelEnding.allCases.firstIndex(of: tunnelEnding) {
            counters.add(.tunnels, index, of: route)
        }
        guard let facts else { return }
        counters.add(.sentBytes, facts.source.rawValue, of: route, UInt64(sentBytes))
        guard let ending = facts.ending else { return }
        counters.add(.exchanges, ending.rawValue, of: route)
        if let tier { counters.add(.hits, tier.rawValue, of: route) }
        if let forward = facts.outcome.forward, !facts.outcome.isHit,
            let index = CacheOutcome.ForwardReason.allCases.firstIndex(of: forward)
        {
            counters.add(.forwards, index, of: route)
        }
        if facts.isStale {
            counters.add(.stale, RouteCounters.staleDetail(facts.outcome), of: route)
        }
        if let reason = facts.notStored {
            counters.add(.notStored, RouteCounters.reason(reason), of: route)
        }
        if let refusal = facts.refusal, let index = OfflineRefusal.allCases.firstIndex(of: refusal) {
            counters.add(.offlineRefused, index, of: route)
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
