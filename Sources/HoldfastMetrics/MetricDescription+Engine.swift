extension MetricDescription {
    /// The metrics that the engine counts.
    public static let engine = [
        MetricDescription("holdfast_exchanges_total", .counter, "Exchanges, by their outcome."),
        MetricDescription(
            "holdfast_store_failures_total",
            .counter,
            "Operations of the store that failed, by their kind."
        ),
        MetricDescription(
            "holdfast_refused_contents_total",
            .counter,
            "Responses that a caller's check kept out of the store."
        ),
        MetricDescription("holdfast_origin_outages_total", .counter, "Outages of an origin."),
        MetricDescription(
            "holdfast_origin_probes_total",
            .counter,
            "Probes of an origin that is unreachable or failed, by their result."
        ),
    ]

    /// The metrics that the store counts.
    public static let store = [
        MetricDescription(
            "holdfast_store_read_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of reads of entries and pieces of bodies from disk."
        ),
        MetricDescription(
            "holdfast_store_write_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of the store's transactions."
        ),
        MetricDescription(
            "holdfast_store_checkpoint_duration_seconds",
            .histogram(bounds: durationBounds),
            "Duration of copying the store's log into its database."
        ),
    ]

    /// The spans that no collector got, of a gateway that sends traces.
    public static let droppedSpans = MetricDescription(
        "holdfast_spans_dropped_total",
        .counter,
        "Spans that were not sent: the queue was full, or the collector did not take them."
    )
}
