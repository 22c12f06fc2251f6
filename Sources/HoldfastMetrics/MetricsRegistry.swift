public import CoreMetrics
import Synchronization

/// Keeps the metrics of a program, and collects them for a scrape.
///
/// It is a factory for the API of swift-metrics. Beside the series that are made through it, it
/// asks its collectors, who sum up what is counted elsewhere, for example on each event loop.
///
/// The number of lines is bounded: a series that would exceed ``lineLimit`` is not kept, one that
/// would exceed ``totalLineLimit`` is not reported, and `holdfast_metrics_refused_series` counts
/// both. So nothing that a client sends can fill memory, or the disk of the Prometheus that scrapes
/// it.
public final class MetricsRegistry: MetricsFactory {
    private struct Key: Hashable {
        var name: String
        var labels: MetricLabels
    }

    private struct State {
        var instruments: [Key: any Instrument] = [:]
        /// In the order in which the first series of each was made.
        var names: [String] = []
        var descriptions: [String: MetricDescription] = [:]
        var keys: [String: [Key]] = [:]
        var lines = 0
        var refused: Int64 = 0
        var collectors: [any MetricsCollector] = []
    }

    /// The most lines that all series made here may take together.
    public let lineLimit: Int
    /// The most lines of a scrape, those of collectors included; 24,000 by default. Each is a
    /// series of Prometheus.
    ///
    /// It is above what a gateway with as many routes and origins as have names of their own can
    /// count. A collector that goes beyond it has an error, and must not make Prometheus suffer.
    public let totalLineLimit: Int

    private let state: Mutex<State>

    /// - Parameters:
    ///   - descriptions: the metrics that may be made. Others are described by their name alone.
    ///   - lineLimit: see ``lineLimit``; 3,000 by default.
    ///   - totalLineLimit: see ``totalLineLimit``.
    public init(
        _ descriptions: [MetricDescription] = [],
        lineLimit: Int = 3000,
        totalLineLimit: Int = MetricsRegistry.standardTotalLineLimit
    ) {
        self.lineLimit = lineLimit
        self.totalLineLimit = totalLineLimit
        var state = State()
        for description in descriptions { state.descriptions[description.name] = description }
        self.state = Mutex(state)
    }

    /// See ``totalLineLimit``.
    public static let standardTotalLineLimit = 24_000

    /// Asks this collector in each scrape from now on.
    public func add(_ collector: any MetricsCollector) { state.withLock { $0.collectors.append(collector) } }

    /// All metrics: first those that were made here, in the order in which they were, then those
    /// of the collectors, in the order in which these were added, then the number of those that are
    /// missing.
    public func families() async -> [MetricFamily] { await families(of: { _ in true }) }

    /// The same without the collectors that take time.
    package func quickFamilies() async -> [MetricFamily] { await families(of: \.isQuick) }

    private func families(of isWanted: (any MetricsCollector) -> Bool) async -> [MetricFamily] {
        let (collectors, own, refused) = state.withLock { state in
            let families = state.names.compactMap { name -> MetricFamily? in
                guard let description = state.descriptions[name], let keys = state.keys[name] else { return nil }
                let series = keys.compactMap { key in
                    state.instruments[key].map { MetricSeries(key.labels, $0.value) }
                }
                return MetricFamily(description, series)
            }
            return (state.collectors, families, state.refused)
        }
        var families = own
        for collector in collectors where isWanted(collector) { families += await collector.families() }
        // One line is that of the number itself.
        let cut = Self.cut(&families, to: totalLineLimit - 1)
        return families + [MetricFamily(Self.refusedSeries, [MetricSeries(.integer(refused + Int64(cut)))])]
    }

    /// Removes the last series, so that the others take no more than these lines.
    ///
    /// - Returns: how many were removed.
    private static func cut(_ families: inout [MetricFamily], to lines: Int) -> Int {
        var room = lines
        var removed = 0
        for index in families.indices {
            let each = families[index].description.lineCount
            let count = families[index].series.count
            let kept = min(count, room / each)
            families[index].series.removeLast(count - kept)
            room -= kept * each
            removed += count - kept
        }
        return removed
    }

    private static let refusedSeries = MetricDescription(
        "holdfast_metrics_refused_series",
        .gauge,
        "Series that are omitted because the output would have too many lines."
    )

    /// The instrument of a series, which is made the first time.
    ///
    /// - Parameters:
    ///   - kind: the kind, unless the metric is described.
    /// - Returns: an instrument that is never collected if there is no room for it, or if the
    ///   metric exists and is of another kind.
    private func instrument<Wanted: Instrument>(
        _ name: String,
        _ dimensions: [(String, String)],
        _ kind: MetricDescription.Kind,
        _ make: (MetricDescription.Kind) -> Wanted
    ) -> Wanted {
        let key = Key(name: name, labels: MetricLabels(dimensions))
        return state.withLock { state in
            if let instrument = state.instruments[key] as? Wanted { return instrument }
            let description = state.descriptions[name] ?? MetricDescription(name, kind, name)
            let made = make(description.kind)
            let lines = description.lineCount
            guard state.instruments[key] == nil, Wanted.suits(description.kind), state.lines + lines <= lineLimit else {
                state.refused += 1
                return made
            }
            state.descriptions[name] = description
            if state.keys[name] == nil { state.names.append(name) }
            state.keys[name, default: []].append(key)
            state.instruments[key] = made
            state.lines += lines
            return made
        }
    }

    // MARK: The API of swift-metrics

    /// Makes a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(label, dimensions, .counter) { _ in CounterInstrument() }
    }

    /// Makes a gauge, or a histogram of seconds if values are aggregated.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return instrument(label, dimensions, .gauge) { _ in GaugeInstrument() } }
        return instrument(label, dimensions, .histogram(bounds: MetricDescription.durationBounds)) {
            HistogramInstrument($0)
        }
    }

    /// Makes a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(label, dimensions, .gauge) { _ in GaugeInstrument() }
    }

    /// Makes a histogram of seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(label, dimensions, .histogram(bounds: MetricDescription.durationBounds)) { HistogramInstrument($0) }
    }

    /// Does nothing: for Prometheus, a series that vanishes is a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing: for Prometheus, a series that vanishes is a restart.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing: for Prometheus, a series that vanishes is a restart.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing: for Prometheus, a series that vanishes is a restart.
    public func destroyTimer(_ handler: any TimerHandler) {}
}

/// Reports metrics that are counted elsewhere.
public protocol MetricsCollector: Sendable {
    /// The metrics of this moment. Each has a name of its own, which nothing else reports.
    func families() async -> [MetricFamily]

    /// Whether it counts nothing that takes time: it reads numbers from memory.
    var isQuick: Bool { get }
}

extension MetricsCollector {
    /// `true`
    public var isQuick: Bool { true }
}
