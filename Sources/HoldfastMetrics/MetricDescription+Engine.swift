extension MetricDescription {
    /// The metrics that the engine counts.
    public static let engine = [
        MetricDescription("holdfast_exchanges_total", .counter, "Exchanges, by their outcome."),
        MetricDescription("holdfast_store_failures_total", .counter, "Operations of the store that failed."),
        MetricDescription(
            "holdfast_refused_contents_total",
            .counter,
            "Responses that a caller's check kept out of the store."
        ),
        MetricDescription("holdfast_origin_outages_total", .counter, "Outages of an origin."),
    ]

    /// The spans that no collector got, of a gateway that sends traces.
    public static let droppedSpans = MetricDescription(
        "holdfast_spans_dropped_total",
        .counter,
        "Spans that were not sent: the queue was full, or the collector did not take them."
    )
}
