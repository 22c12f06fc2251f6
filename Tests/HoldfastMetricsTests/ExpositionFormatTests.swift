import Testing

@testable import HoldfastMetrics

/// The text that a scrape reads.
@Suite(.timeLimit(.minutes(20))) struct ExpositionFormatTests {
    private let counter = MetricDescription("holdfast_exchanges_total", .counter, "Exchanges.")
    private let histogram = MetricDescription(
        "wait_seconds",
        .histogram(bounds: [0.0001, 1]),
        "Time \\ \"waited\"\nin all."
    )

    private var families: [MetricFamily] {
        [
            MetricFamily(
                counter,
                [MetricSeries([.init("outcome", "hit"), .init("route", "a\"b\\c\nd")], .integer(3))]
            ),
            MetricFamily(histogram, [MetricSeries(.histogram(counts: [1, 0, 2], sum: 7.5))]),
            MetricFamily(MetricDescription("empty", .gauge, "None."), []),
            MetricFamily(
                MetricDescription("level", .gauge, "Levels."),
                [
                    MetricSeries([.init("of", "whole")], .number(2)),
                    MetricSeries([.init("of", "none")], .number(.nan)),
                    MetricSeries([.init("of", "much")], .number(.infinity)),
                ]
            ),
        ]
    }

    @Test func prometheusGetsItsFormat() {
        #expect(
            ExpositionFormat.prometheus.text(families) == #"""
                # HELP holdfast_exchanges_total Exchanges.
                # TYPE holdfast_exchanges_total counter
                holdfast_exchanges_total{outcome="hit",route="a\"b\\c\nd"} 3
                # HELP wait_seconds Time \\ "waited"\nin all.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{le="0.0001"} 1
                wait_seconds_bucket{le="1"} 1
                wait_seconds_bucket{le="+Inf"} 3
                wait_seconds_sum 7.5
                wait_seconds_count 3
                # HELP level Levels.
                # TYPE level gauge
                level{of="whole"} 2
                level{of="none"} NaN
                level{of="much"} +Inf

                """#
        )
    }

    /// A gauge and a counter have names that differ in the suffix alone, as connections do.
    @Test func openMetricsHasNoNameTwice() {
        let families = [
            MetricFamily(MetricDescription("connections", .gauge, "Open."), [MetricSeries(.integer(1))]),
            MetricFamily(MetricDescription("connections_total", .counter, "All."), [MetricSeries(.integer(2))]),
        ]
        #expect(
            ExpositionFormat.openMetrics.text(families) == """
                # HELP connections Open.
                # TYPE connections gauge
                connections 1
                # HELP connections_total All.
                # TYPE connections_total unknown
                connections_total 2
                # EOF

                """
        )
        #expect(ExpositionFormat.prometheus.text(families).contains("# TYPE connections_total counter\n"))
    }

    @Test func openMetricsNamesCountersWithoutSuffixAndEnds() {
        let text = ExpositionFormat.openMetrics.text(families)
        #expect(
            text.hasPrefix(
                "# HELP holdfast_exchanges Exchanges.\n# TYPE holdfast_exchanges counter\nholdfast_exchanges_total{"
            )
        )
        #expect(text.contains(#"# HELP wait_seconds Time \\ \"waited\"\nin all."#))
        #expect(text.contains(#"wait_seconds_bucket{le="1.0"} 1"#))
        #expect(text.hasSuffix("\n# EOF\n"))
    }

    @Test(arguments: [
        ("", ExpositionFormat.prometheus),
        ("*/*", .prometheus),
        ("application/openmetrics-text", .openMetrics),
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics),
        ("application/openmetrics-text; version=0.0.1; q=0.8, text/plain;version=0.0.4;q=0.3", .prometheus),
        ("text/plain;q=0.9, application/openmetrics-text;q=0.3", .prometheus),
        ("application/openmetrics-text;q=0", .prometheus),
        ("text/html;q=nonsense, ;;,=", .prometheus),
    ]) func clientsChooseTheFormat(accept: String, format: ExpositionFormat) {
        #expect(ExpositionFormat(accept: accept) == format)
    }
}
