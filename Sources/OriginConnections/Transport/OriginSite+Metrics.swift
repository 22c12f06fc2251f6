import HoldfastMetrics

extension OriginSite {
    /// Returns the metrics of origins that have their own settings. Their labels are names from the
    /// configuration, so there are few of them.
    static func families(_ sites: [OriginSite]) -> [MetricFamily] {
        let rows = sites.flatMap { site in
            site.report.map { server, isAside, counts in
                (labels: [("origin", site.name), ("server", server.name)], isAside: isAside, counts: counts)
            }
        }
        let failures = rows.flatMap { row in
            row.counts.failures.sorted { $0.key < $1.key }.map { reason, count in
                MetricSeries(.init(row.labels + [("reason", reason)]), .integer(Int64(count)))
            }
        }
        let checks = rows.flatMap { row in
            [("good", row.counts.goodChecks), ("failed", row.counts.failedChecks)].filter { $0.1 > 0 }.map {
                MetricSeries(.init(row.labels + [("result", $0)]), .integer(Int64($1)))
            }
        }
        return [
            MetricFamily(up, rows.map { MetricSeries(.init($0.labels), .integer($0.isAside ? 0 : 1)) }),
            MetricFamily(responses, rows.map { MetricSeries(.init($0.labels), .integer(Int64($0.counts.responses))) }),
            MetricFamily(failed, failures),
            MetricFamily(checked, checks),
            MetricFamily(expiry, certificates(of: sites)),
        ]
    }

    private static func certificates(of sites: [OriginSite]) -> [MetricSeries] {
        var expiries: [String: Int64] = [:]
        for security in sites.flatMap(\.servers).compactMap(\.security) { expiries[security.url] = security.expiry }
        return expiries.sorted { $0.key < $1.key }.map {
            MetricSeries(.init([("origin", $0.key)]), .integer($0.value))
        }
    }

    private static let up = MetricDescription(
        "holdfast_origin_server_up",
        .gauge,
        "1 if an origin server gets requests, 0 while it is set aside or, as the only server, unreachable."
    )
    private static let responses = MetricDescription(
        "holdfast_origin_server_responses_total",
        .counter,
        "Responses from an origin server, except 502, 503 and 504."
    )
    private static let failed = MetricDescription(
        "holdfast_origin_server_failures_total",
        .counter,
        "Requests that failed at an origin server, by reason."
    )
    private static let checked = MetricDescription(
        "holdfast_origin_server_checks_total",
        .counter,
        "Health checks of an origin server, by result."
    )
    private static let expiry = MetricDescription(
        "holdfast_origin_certificate_expiry_timestamp_seconds",
        .gauge,
        "Expiry of the client certificate that an origin gets from the gateway, in seconds since 1970."
    )
}
