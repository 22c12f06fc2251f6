public import Metrics

/// What an engine counts. It is made where a program is composed, and handed to the engine, so that
/// every series exists from the start and belongs to the factory that the program has chosen, in
/// whatever order its parts are made.
///
/// | Metric | Kind | Dimensions |
/// |---|---|---|
/// | `holdfast_exchanges_total` | counter | `outcome`: hit, stale-hit, validated, fetched, collapsed, bypass, refused, failed |
/// | `holdfast_store_failures_total` | counter | none |
/// | `holdfast_refused_contents_total` | counter | none |
/// | `holdfast_origins_away` | gauge | `origin`: the first 64 that were unreachable, then `other` |
/// | `holdfast_origin_outages_total` | counter | `origin`, as above |
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
