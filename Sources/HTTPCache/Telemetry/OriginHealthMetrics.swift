import Metrics
import Synchronization

/// Counts the outages of origins: `holdfast_origin_outages_total`, by origin.
///
/// The dimension is bounded: the first ``limit`` origins that were ever unreachable are named, all
/// others are `other`.
final class OriginHealthMetrics: Sendable {
    /// The number of origins with their own names.
    static let limit = 64
    private static let others = "other"

    private let outages = Mutex<[String: Counter]>([:])
    private let factory: any MetricsFactory

    init(factory: any MetricsFactory) { self.factory = factory }

    func becameUnreachable(_ origin: Origin) {
        outages.withLock { all in
            let name = origin.description
            let label = all[name] != nil || all.count < Self.limit ? name : Self.others
            let counter =
                all[label]
                ?? Counter(
                    label: "holdfast_origin_outages_total",
                    dimensions: [("origin", label)],
                    factory: factory
                )
            counter.increment()
            all[label] = counter
        }
    }
}
