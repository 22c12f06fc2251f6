import Metrics
import Synchronization

/// Which origins are away, as metrics: `holdfast_origins_away`, how many now, and
/// `holdfast_origin_outages_total`, how often, by origin.
///
/// The dimension is bounded: the first ``limit`` origins that were ever away have their names, all
/// others are `other`.
final class OriginHealthMetrics: Sendable {
    private struct Series {
        let away: Gauge
        let outages: Counter
        var count = 0

        init(_ origin: String, _ factory: any MetricsFactory) {
            away = Gauge(label: "holdfast_origins_away", dimensions: [("origin", origin)], factory: factory)
            outages = Counter(
                label: "holdfast_origin_outages_total",
                dimensions: [("origin", origin)],
                factory: factory
            )
        }
    }

    /// Origins with names of their own.
    static let limit = 64
    private static let others = "other"

    private let series = Mutex<[String: Series]>([:])

    private let factory: any MetricsFactory

    init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

    func wentAway(_ origin: Origin) {
        change(origin) { series in
            series.count += 1
            series.outages.increment()
        }
    }

    func answersAgain(_ origin: Origin) {
        change(origin) { $0.count = max(0, $0.count - 1) }
    }

    private func change(_ origin: Origin, _ body: (inout Series) -> Void) {
        series.withLock { all in
            let name = origin.description
            // Once there, a name stays, so that what went away under it comes back under it.
            let label = all[name] != nil || all.count < Self.limit ? name : Self.others
            var series = all[label] ?? Series(label, factory)
            body(&series)
            series.away.record(series.count)
            all[label] = series
        }
    }
}
