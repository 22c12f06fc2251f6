extension MetricDescription {
    /// The engine's metrics.
    public static let engine = [
        MetricDescription("holdfast_exchanges_total", .counter, "Exchanges, by outcome."),
        MetricDescription(
            "holdfast_store_failures_total",
            .counter,
            "Store operations that failed, by kind."
        ),
        MetricDescription(
            "holdfast_refused_contents_total",
            .counter,
            "Responses that a caller's check kept out of the store."
        ),
        MetricDescription("holdfast_origin_outages_total", .counter, "Origin outages."),
        MetricDescription(
            "holdfast_origin_probes_total",
            .counter,
            "Probes of origins that are unreachable or failing, by result."
        ),
    ]

    /// The store's metrics.
    public static let store = [
        MetricDescription(
            "holdfast_store_read_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of reads of entries and body chunks from disk."
        ),
        MetricDescription(
            "holdfast_store_write_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of store transactions."
        ),
        MetricDescription(
            "holdfast_store_checkpoint_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of checkpoints, which copy the store's write-ahead log into its database."
        ),
    ]

    /// Spans that never reached a collector, for a gateway that exports traces.
    public static let droppedSpans = MetricDescription(
        "holdfast_spans_dropped_total",
        .counter,
        "Spans dropped because the queue was full or the collector did not accept them."
    )
}
