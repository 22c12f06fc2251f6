public import Metrics

/// The counters of an engine. A program creates them when it composes its parts, and passes them to
/// the engine. As a result, every series exists from the start and belongs to the factory that the
/// program chose, in whatever order the parts are created.
///
/// | Metric | Kind | Dimensions |
/// |---|---|---|
/// | `holdfast_exchanges_total` | counter | `outcome`, as below |
/// | `holdfast_store_failures_total` | counter | `operation`: `read`, `write` or `invalidate` |
/// | `holdfast_refused_contents_total` | counter | none |
/// | `holdfast_origin_outages_total` | counter | `origin`, as below |
/// | `holdfast_origin_probes_total` | counter | `origin`, and `result`: `answered` or `failed` |
///
/// `outcome` is `hit`, `stale-hit`, `validated`, `fetched`, `collapsed`, `bypass`, `refused` or
/// `failed`. `origin` is one of the first 64 origins that were unreachable, or `other`.
public struct Telemetry: Sendable {
    let exchanges: ExchangeMetrics
    let origins: OriginHealthMetrics

    /// - Parameters:
    ///   - factory: creates the series. The default is the factory of `MetricsSystem`, which the
    ///     program must bootstrap before this call; otherwise nothing is counted.
    ///   - countsExchanges: whether the engine counts `holdfast_exchanges_total`. A program that
    ///     counts its own clients' exchanges, as the gateway does, passes `false`.
    public init(factory: any MetricsFactory = MetricsSystem.factory, countsExchanges: Bool = true) {
        self.init(factory: factory, countsExchanges: countsExchanges, labels: OriginLabels())
    }

    /// - Parameter labels: the values of the dimension `origin`.
    package init(factory: any MetricsFactory, countsExchanges: Bool, labels: OriginLabels) {
        exchanges = ExchangeMetrics(factory: factory, countsExchanges: countsExchanges)
        origins = OriginHealthMetrics(factory: factory, labels: labels)
    }
}
