import Metrics
import Synchronization

/// Counts unreachable origins: the gauge `holdfast_origins_away` is their present number, and
/// `holdfast_origin_outages_total` counts the outages, by origin.
///
/// The dimension is bounded: the first ``limit`` origins that were ever unreachable are named, all
/// others are `other`.
final class OriginHealthMetrics: Sendable {
    private struct Series {
        let present: Gauge
        let outages: Counter
        var count = 0

        init(_ origin: String, _ factory: any MetricsFactory) {
            present = Gauge(label: "holdfast_origins_away", dimensions: [("origin", origin)], factory: factory)
            outages = Counter(
                label: "holdfast_origin_outages_total",
                dimensions: [("origin", origin)],
                factory: factory
            )
        }
    }

    /// The number of origins with their own names.
    static let limit = 64
    private static let others = "other"

    private let series = Mutex<[String: Series]>([:])

    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) { self.factory = factory }

    func becameUnreachable(_ origin: Origin) {
        change(origin) { series in
            series.count += 1
            series.outages.increment()
        }
    }

    func becameReachable(_ origin: Origin) {
        change(origin) { $0.count = max(0, $0.count - 1) }
    }

    private func change(_ origin: Origin, _ body: (inout Series) -> Void) {
        series.withLock { all in
            let name = origin.description
            // A name stays once it is used, so that an outage ends under the name under which it
            // began.
            let label = all[name] != nil || all.count < Self.limit ? name : Self.others
            var series = all[label] ?? Series(label, factory)
            body(&series)
            series.present.record(series.count)
            all[label] = series
        }
    }
}
