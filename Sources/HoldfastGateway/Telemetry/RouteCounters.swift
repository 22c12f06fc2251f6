import HTTPCache
import HTTPCacheSemantics
import HoldfastMetrics

/// Counters by route and by one other label, in one array. It belongs to one event loop.
struct RouteCounters: Sendable {
    /// A metric with a closed set of values for its label.
    struct Section: Sendable {
        let description: MetricDescription
        let label: String
        let values: [String]
        fileprivate let start: Int
    }

    private var cells = [UInt64](repeating: 0, count: RouteLabels.count * width)
    /// The cells of a hit of the hot table, within those of its route: it is the shortest path.
    private let hit = exchanges.start + ExchangeEnding.hit.rawValue
    private let hotHit = hits.start + ExchangeRecord.Tier.hot.rawValue
    private let cacheBytes = sentBytes.start + ExchangeFacts.Source.cache.rawValue

    /// Counts a hit of the hot table.
    mutating func addHotHit(_ bytes: Int, of route: RouteLabel) {
        let first = route * Self.width
        cells[first + hit] += 1
        cells[first + hotHit] += 1
        cells[first + cacheBytes] += UInt64(bytes)
    }

    /// Adds to one counter.
    ///
    /// - Parameter value: the number of the label's value in its section.
    mutating func add(_ section: Section, _ value: Int, of route: RouteLabel, _ amount: UInt64 = 1) {
        cells[route * Self.width + section.start + value] += amount
    }

    /// Adds another loop's counters.
    mutating func add(_ other: RouteCounters) {
        for (index, count) in other.cells.enumerated() { cells[index] += count }
    }

    /// The metrics. Only exchanges have series that are still 0, so that a first failure shows as
    /// an increase.
    ///
    /// - Parameter names: the names of the routes, by their labels.
    func families(_ names: [String]) -> [MetricFamily] {
        Self.all.map { section in
            var series: [MetricSeries] = []
            for (route, name) in names.enumerated() {
                for (index, value) in section.values.enumerated() {
                    let count = cells[route * Self.width + section.start + index]
                    guard count > 0 || (section.start == Self.exchanges.start && route > RouteLabels.other) else {
                        continue
                    }
                    series.append(
                        MetricSeries([.init("route", name), .init(section.label, value)], .integer(Int64(count)))
                    )
                }
            }
            return MetricFamily(section.description, series)
        }
    }

    // MARK: Sections

    static let exchanges = Section(
        "holdfast_exchanges_total",
        "outcome",
        "Exchanges with the cache, by how they ended.",
        ExchangeEnding.allCases.map(\.label),
        after: nil
    )
    static let hits = Section(
        "holdfast_hits_total",
        "tier",
        "Requests served from the store, by where the bytes were.",
        ExchangeRecord.Tier.allCases.map { "\($0)" },
        after: exchanges
    )
    static let forwards = Section(
        "holdfast_forwards_total",
        "fwd",
        "Requests that the store could not serve, by the reason. RFC 9211.",
        CacheOutcome.ForwardReason.allCases.map(\.rawValue),
        after: hits
    )
    static let sentBytes = Section(
        "holdfast_sent_bytes_total",
        "source",
        "Bytes of content that were sent to clients, by where they came from.",
        ExchangeFacts.Source.allCases.map { "\($0)" },
        after: forwards
    )
    static let stale = Section(
        "holdfast_stale_served_total",
        "detail",
        "Stale responses that were served, by the reason.",
        staleDetails,
        after: sentBytes
    )
    static let notStored = Section(
        "holdfast_not_stored_total",
        "reason",
        "Responses of origins that were not stored, by the reason.",
        StorageRefusal.allCases.map(\.label),
        after: stale
    )
    static let offlineRefused = Section(
        "holdfast_offline_refused_total",
        "reason",
        "Requests that could not be answered without their origin.",
        OfflineRefusal.allCases.map(\.rawValue),
        after: notStored
    )

    static let all = [exchanges, hits, forwards, sentBytes, stale, notStored, offlineRefused]
    private static let width = offlineRefused.end

    /// The number of a detail in ``stale``.
    static func staleDetail(_ detail: CacheOutcome.Detail?) -> Int {
        detail.flatMap { staleDetails.firstIndex(of: $0.description) } ?? staleDetails.count - 1
    }

    /// The number of a reason in ``notStored``.
    static func reason(_ refusal: StorageRefusal) -> Int { reasons[refusal] ?? 0 }

    private static let reasons = Dictionary(
        uniqueKeysWithValues: StorageRefusal.allCases.enumerated().map { ($1, $0) }
    )

    private static let staleDetails =
        [
            CacheOutcome.Detail.offline, .staleIfError, .staleWhileRevalidate, .slow, .guarded, .recent, .overloaded,
            .invalidated, .despite("must-revalidate"), .despite("proxy-revalidate"), .despite("no-cache"),
            .despite("s-maxage"), .despite("no-store"),
        ].map(\.description) + ["other"]
}

extension RouteCounters.Section {
    fileprivate init(_ name: String, _ label: String, _ help: String, _ values: [String], after other: Self?) {
        self.init(
            description: MetricDescription(name, .counter, help),
            label: label,
            values: values,
            start: other?.end ?? 0
        )
    }

    fileprivate var end: Int { start + values.count }
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
            counters.add(RouteCounters.stale, RouteCounters.staleDetail(facts.outcome.detail), of: route)
        }
        if let reason = facts.outcome.notStored {
            counters.add(RouteCounters.notStored, RouteCounters.reason(reason), of: route)
        }
        if let refusal = facts.refusal, let index = OfflineRefusal.allCases.firstIndex(of: refusal) {
            counters.add(RouteCounters.offlineRefused, index, of: route)
        }
    }
}

extension StorageRefusal {
    /// The value of the label `reason`: `responseNoStore` is `response-no-store`.
    package var label: String {
        var label = ""
        for character in rawValue {
            if character.isUppercase { label += "-" }
            label += character.lowercased()
        }
        return label
    }
}
