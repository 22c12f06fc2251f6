public import CoreMetrics
import Synchronization

/// Holds the metrics of a program and collects them for a scrape.
///
/// The registry is a factory for the swift-metrics API. In addition to the series created through
/// that API, it queries its collectors, which sum up values that are counted elsewhere, for example
/// on each event loop.
///
/// The number of lines is limited, so that data from clients can fill neither memory nor the disk
/// of the scraping Prometheus server. A series that would exceed ``lineLimit`` is not created. A
/// series that would exceed ``totalLineLimit`` is not reported. `holdfast_metrics_refused_series`
/// counts both.
public final class MetricsRegistry: MetricsFactory {
    private struct Key: Hashable {
        var name: String
        var labels: MetricLabels
    }

    private struct State {
        var instruments: [Key: any Instrument] = [:]
        /// Metric names in the order of creation.
        var names: [String] = []
        var descriptions: [String: MetricDescription] = [:]
        var keys: [String: [Key]] = [:]
        var lines = 0
        var refused: Int64 = 0
        var collectors: [any MetricsCollector] = []
    }

    /// The maximum number of lines for all series created here.
    public let lineLimit: Int
    /// The maximum number of lines in a scrape, including those from collectors; 24,000 by default.
    /// Each line is a Prometheus series.
    ///
    /// The limit exceeds the number of lines of a gateway with the maximum number of routes and
    /// origins that have their own series. A collector that reaches it has a bug, which must not
    /// overload Prometheus.
    public let totalLineLimit: Int

    private let state: Mutex<State>

    /// - Parameters:
    ///   - descriptions: the known metrics. Any other metric is described only by its name.
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

    /// The default of ``totalLineLimit``.
    public static let standardTotalLineLimit = 24_000

    /// Adds a collector, which is then queried on every scrape.
    public func add(_ collector: any MetricsCollector) { state.withLock { $0.collectors.append(collector) } }

    /// Returns all metrics: first those created here, in order of creation, then those from the
    /// collectors, in the order in which the collectors were added, and finally the number of
    /// missing series.
    public func families() async -> [MetricFamily] { await families(of: { _ in true }) }

    /// Returns the same metrics as ``families()``, without metrics from slow collectors.
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
        // One line is needed for the number of missing series itself.
        let cut = Self.cut(&families, to: totalLineLimit - 1)
        return families + [MetricFamily(Self.refusedSeries, [MetricSeries(.integer(refused + Int64(cut)))])]
    }

    /// Removes series from the end until the remaining series fit into `lines` lines.
    ///
    /// - Returns: the number of removed series.
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

    /// Returns the instrument of a series and creates it on first use.
    ///
    /// - Parameters:
    ///   - kind: the kind to use if the metric has no description.
    /// - Returns: an instrument that is never collected if the limit was reached, or if the metric
    ///   exists with a different kind.
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

    // MARK: The swift-metrics API

    /// Creates a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(label, dimensions, .counter) { _ in CounterInstrument() }
    }

    /// Creates a gauge, or a histogram in seconds if values are aggregated.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return instrument(label, dimensions, .gauge) { _ in GaugeInstrument() } }
        return instrument(label, dimensions, .histogram(bounds: MetricDescription.durationBounds)) {
            HistogramInstrument($0)
        }
    }

    /// Creates a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(label, dimensions, .gauge) { _ in GaugeInstrument() }
    }

    /// Creates a histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(label, dimensions, .histogram(bounds: MetricDescription.durationBounds)) { HistogramInstrument($0) }
    }

    /// Does nothing, because Prometheus would interpret a missing series as a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing, because Prometheus would interpret a missing series as a restart.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing, because Prometheus would interpret a missing series as a restart.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing, because Prometheus would interpret a missing series as a restart.
    public func destroyTimer(_ handler: any TimerHandler) {}
}

/// Reports metrics that are counted elsewhere.
public protocol MetricsCollector: Sendable {
    /// Returns the current metrics. Each name is unique and not reported elsewhere.
    func families() async -> [MetricFamily]

    /// Whether collecting is fast because it only reads numbers from memory.
    var isQuick: Bool { get }
}

extension MetricsCollector {
    /// `true`
    public var isQuick: Bool { true }
}
