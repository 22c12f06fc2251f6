public import Metrics

/// The counters and gauges of an engine. They are made where a program is composed, and handed to
/// the engine. So every series exists from the start and belongs to the factory that the program
/// chose, in whatever order its parts are made.
///
/// | Metric | Kind | Dimensions |
/// |---|---|---|
/// | `holdfast_exchanges_total` | counter | `outcome`, as below |
/// | `holdfast_store_failures_total` | counter | none |
/// | `holdfast_refused_contents_total` | counter | none |
/// | `holdfast_origins_away` | gauge | `origin`, as below |
/// | `holdfast_origin_outages_total` | counter | `origin`, as below |
///
/// `outcome` is `hit`, `stale-hit`, `validated`, `fetched`, `collapsed`, `bypass`, `refused` or
/// `failed`. `origin` is one of the first 64 origins that were unreachable, or `other`.
public struct Telemetry: Sendable {
    let exchanges: ExchangeMetrics
    let origins: OriginHealthMetrics

    /// - Parameter factory: makes the series. Without one it is that of `MetricsSystem`, which the
    ///   program bootstraps before this call, or else nothing is counted.
    public init(factory: any MetricsFactory = MetricsSystem.factory) {
        exchanges = ExchangeMetrics(factory: factory)
        origins = OriginHealthMetrics(factory: factory)
    }
}
