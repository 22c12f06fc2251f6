import CoreMetrics
import Metrics
import Testing

@testable import HoldfastMetrics

/// Values that are recorded through the API of swift-metrics are collected.
@Suite(.timeLimit(.minutes(20))) struct RegistryTests {
    private static let described = [
        MetricDescription("a_total", .counter, "The first."),
        MetricDescription("b_seconds", .histogram(bounds: [0.1, 1]), "The second."),
    ]

    private func value(_ name: String, _ labels: MetricLabels = [], in registry: MetricsRegistry) async
        -> MetricSeries.Value?
    {
        await registry.families().first { $0.description.name == name }?.series.first { $0.labels == labels }?.value
    }

    @Test func countersGrowAndAreOneForEqualLabels() async {
        let registry = MetricsRegistry(Self.described)
        let first = Counter(label: "a_total", dimensions: [("outcome", "hit")], factory: registry)
        let second = Counter(label: "a_total", dimensions: [("outcome", "hit")], factory: registry)
        let other = Counter(label: "a_total", dimensions: [("outcome", "miss")], factory: registry)
        first.increment()
        second.increment(by: 2)
        other.increment(by: 40)
        #expect(await value("a_total", [.init("outcome", "hit")], in: registry) == .integer(3))
        #expect(await value("a_total", [.init("outcome", "miss")], in: registry) == .integer(40))
    }

    @Test func gaugesKeepTheLastValue() async {
        let registry = MetricsRegistry()
        let gauge = Gauge(label: "size_bytes", factory: registry)
        gauge.record(7)
        gauge.record(2.5)
        let meter = Meter(label: "level", factory: registry)
        meter.set(10)
        meter.increment(by: 2)
        meter.decrement(by: 0.5)
        #expect(await value("size_bytes", in: registry) == .number(2.5))
        #expect(await value("level", in: registry) == .number(11.5))
    }

    @Test func timersCountSecondsInTheDescribedBuckets() async {
        let registry = MetricsRegistry(Self.described)
        let timer = Timer(label: "b_seconds", factory: registry)
        timer.recordNanoseconds(100_000_000)
        timer.recordNanoseconds(100_000_001)
        timer.recordMilliseconds(2000)
        #expect(await value("b_seconds", in: registry) == .histogram(counts: [1, 1, 1], sum: 2.200000001))
    }

    @Test func valuesOfManyThreadsAreAllCounted() async {
        let registry = MetricsRegistry(Self.described)
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<30 {
                tasks.addTask {
                    for _ in 0..<100 {
                        Counter(label: "a_total", factory: registry).increment()
                        Timer(label: "b_seconds", factory: registry).recordSeconds(5)
                        Meter(label: "level", factory: registry).increment()
                    }
                }
            }
        }
        #expect(await value("a_total", in: registry) == .integer(3000))
        #expect(await value("b_seconds", in: registry) == .histogram(counts: [0, 0, 3000], sum: 15_000))
        #expect(await value("level", in: registry) == .number(3000))
    }

    @Test func seriesBeyondTheLimitAreNotKeptAndAreCounted() async {
        let registry = MetricsRegistry(lineLimit: 10)
        for number in 0..<10_000 {
            Counter(label: "a_total", dimensions: [("host", "\(number).example")], factory: registry).increment()
        }
        let families = await registry.families()
        #expect(families.first?.series.count == 10)
        #expect(await value("holdfast_metrics_refused_series", in: registry) == .integer(9990))
        // Those that are kept continue.
        Counter(label: "a_total", dimensions: [("host", "3.example")], factory: registry).increment()
        #expect(await value("a_total", [.init("host", "3.example")], in: registry) == .integer(2))
    }

    @Test func aScrapeHasNoMoreLinesThanTheLimit() async {
        struct Many: MetricsCollector {
            var kind: MetricDescription.Kind
            func families() async -> [MetricFamily] {
                let value: MetricSeries.Value =
                    kind == .gauge ? .integer(1) : .histogram(counts: [0, 0, 0], sum: 0)
                let series = (0..<10).map { MetricSeries([.init("route", "\($0)")], value) }
                return [MetricFamily(MetricDescription("m\(kind == .gauge ? 1 : 2)", kind, "M."), series)]
            }
        }
        let registry = MetricsRegistry(totalLineLimit: 30)
        Counter(label: "a_total", factory: registry).increment()
        registry.add(Many(kind: .gauge))
        registry.add(Many(kind: .histogram(bounds: [0.1, 1])))
        registry.add(Many(kind: .gauge))
        let families = await registry.families()
        // 1 and 10 lines, 3 of the histograms with 5 lines each, 3 of the last 10, and the number.
        #expect(families.map(\.series.count) == [1, 10, 3, 3, 1])
        #expect(families.reduce(0) { $0 + $1.lineCount } == 30)
        #expect(await value("holdfast_metrics_refused_series", in: registry) == .integer(14))
    }

    @Test func aHistogramTakesOneLineForEachBucketItsCountAndItsSum() async {
        let registry = MetricsRegistry(Self.described, lineLimit: 9)
        Timer(label: "b_seconds", dimensions: [("route", "a")], factory: registry).recordSeconds(1)
        Timer(label: "b_seconds", dimensions: [("route", "b")], factory: registry).recordSeconds(1)
        let families = await registry.families()
        #expect(families.first?.series.count == 1)
        #expect(families.first?.lineCount == 5)
        let lines = ExpositionFormat.prometheus.text([families[0]]).split(separator: "\n").filter { $0.first != "#" }
        #expect(lines.count == 5)
    }

    @Test func aMetricOfAnotherKindIsRefused() async {
        let registry = MetricsRegistry(Self.described)
        Gauge(label: "a_total", factory: registry).record(5)
        #expect(await value("a_total", in: registry) == nil)
        #expect(await value("holdfast_metrics_refused_series", in: registry) == .integer(1))
    }

    @Test func collectorsAreAskedInEachScrape() async {
        struct Fixed: MetricsCollector {
            func families() async -> [MetricFamily] {
                [MetricFamily(MetricDescription("c", .gauge, "C."), [MetricSeries(.integer(1))])]
            }
        }
        let registry = MetricsRegistry()
        #expect(await value("c", in: registry) == nil)
        registry.add(Fixed())
        #expect(await value("c", in: registry) == .integer(1))
    }
}
