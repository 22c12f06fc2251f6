import HoldfastMetrics

extension OriginSite {
    /// The metrics of origins that have settings of their own. Their labels are names of the
    /// configuration, of which there are few.
    static func families(_ sites: [OriginSite]) -> [MetricFamily] {
        let rows = sites.flatMap { site in
            site.report.map { server, isAside, counts in
                (labels: [("origin", site.name), ("server", server.name)], isAside: isAside, counts: counts)
            }
        }
        let failures = rows.flatMap { row in
            FailureReason.allCases.compactMap { reason -> MetricSeries? in
                guard let count = row.counts.failures[reason] else { return nil }
                return MetricSeries(.init(row.labels + [("reason", reason.rawValue)]), .integer(Int64(count)))
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
        "1 if a server of an origin is asked in its turn, 0 while it is set aside."
    )
    private static let responses = MetricDescription(
        "holdfast_origin_server_responses_total",
        .counter,
        "Responses of a server of an origin, but for 502, 503 and 504."
    )
    private static let failed = MetricDescription(
        "holdfast_origin_server_failures_total",
        .counter,
        "Requests that a server of an origin failed, by the reason."
    )
    private static let checked = MetricDescription(
        "holdfast_origin_server_checks_total",
        .counter,
        "Health checks of a server of an origin, by their result."
    )
    private static let expiry = MetricDescription(
        "holdfast_origin_certificate_expiry_timestamp_seconds",
        .gauge,
        "When the certificate that an origin gets from the gateway expires, in seconds since 1970."
    )
}
