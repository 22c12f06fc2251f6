import EventLoops
import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastMetrics
import NIOCore
import Synchronization

/// Counts the durations of requests to origins, and reports the origin connections.
///
/// All loops count under one lock. A request to an origin takes the lock of ``OriginPool`` twice
/// anyway, and hits never take this lock.
final class OriginTelemetry: MetricsCollector {
    /// The labels of one series of `http_client_request_duration_seconds`.
    fileprivate struct Labels: Hashable {
        /// `nil` for all origins without their own label.
        var origin: OriginEndpoint?
        /// The index in `KnownMethods.names`.
        var method: Int
        /// 0 if there was no response.
        var status: Int
        /// Whether the status represents all statuses of its class.
        var isClass = false
        /// The reason why there was no response.
        var error: String?
    }

    private struct State {
        /// The origins that have their own settings.
        var sites: [OriginSite] = []
        /// The values of the label `origin`, for the origins that have one.
        var names: [OriginEndpoint: String] = [:]
        /// The series, in the order of their first use.
        var series: [(labels: Labels, durations: Histogram)] = []
        /// The indexes of the series.
        var numbers: [Labels: Int] = [:]
        /// The number of series per origin.
        var counts: [OriginEndpoint?: Int] = [:]

        /// Returns the index of a series, which is created on first use. If there are too many
        /// series, returns the index of a series with fewer labels.
        mutating func number(of labels: Labels) -> Int {
            // Only an origin with a name has series, and it keeps its name.
            if let number = numbers[labels] { return number }
            var kept = labels
            if let origin = labels.origin, names[origin] == nil { kept.origin = nil }
            if let number = number(of: kept, within: OriginTelemetry.share) { return number }
            kept.isClass = kept.status > 0
            kept.status = kept.status / 100 * 100
            if let number = number(of: kept, within: OriginTelemetry.shareWithClasses) { return number }
            kept.method = KnownMethods.names.count - 1
            if let number = number(of: kept, within: .max) { return number }
            kept.origin = nil
            return numbers[kept] ?? add(kept)
        }

        private mutating func number(of labels: Labels, within share: Int) -> Int? {
            if let number = numbers[labels] { return number }
            guard series.count < OriginTelemetry.limit, counts[labels.origin, default: 0] < share else { return nil }
            return add(labels)
        }

        private mutating func add(_ labels: Labels) -> Int {
            numbers[labels] = series.count
            counts[labels.origin, default: 0] += 1
            series.append((labels, Histogram(MetricDescription.durationBounds)))
            return series.count - 1
        }
    }

    /// The maximum number of series of one origin with all their labels. The origin chooses the
    /// status, and clients choose the method. Beyond this number, requests count under their status
    /// class. Beyond ``shareWithClasses``, they also count without their method. Then only status
    /// classes and kinds of errors differ, and there are few of these.
    static let share = 16
    static let shareWithClasses = 24
    /// The maximum number of series of all origins. Beyond this number, requests without an
    /// existing series count without their origin.
    static let limit = 512

    /// The maximum number of origins and mirrors with their own labels.
    static let nameLimit = 2 * OriginLabels.limit

    /// The values of the label `origin`.
    let labels = OriginLabels(configured: [])
    private let pool: OriginPool
    private let state = Mutex(State())

    /// - Parameter routes: the routes whose origins are named. Without routes, all origins are
    ///   `other`, because clients choose them.
    init(_ pool: OriginPool, _ routes: GatewayRoutes?, _ origins: GatewayOrigins? = nil) {
        self.pool = pool
        if let routes { configure(routes, origins) }
    }

    /// Adds the names of these routes' origins and their mirrors.
    func configure(_ routes: GatewayRoutes, _ origins: GatewayOrigins?) {
        labels.configure(routes.originNames)
        state.withLock { state in
            for route in routes.own where labels.label(of: route.origin.name) != OriginLabels.other {
                state.names[route.endpoint] = route.origin.name
            }
            state.sites = origins?.sites(of: routes) ?? []
            let mirrors = state.sites.flatMap(\.plan.mirrors)
            for mirror in mirrors where state.names[mirror.endpoint] == nil && state.names.count < Self.nameLimit {
                state.names[mirror.endpoint] = mirror.name
            }
        }
    }

    /// Counts a request.
    ///
    /// - Parameter result: the status, or the error instead of a response.
    func record(_ result: Result<Int, any Error>, of request: OriginRequest, at now: NIODeadline = .now()) {
        let seconds = max(0, (now - request.start).seconds)
        let endpoint = request.endpoint.named
        var labels = Labels(origin: endpoint, method: KnownMethods.number(of: request.method), status: 0)
        switch result {
        case .success(let status): labels.status = status
        case .failure(let error as TransportError): labels.error = error.reason
        case .failure: labels.error = TransportError.Code.cancelled.label
        }
        state.withLock { [labels] state in
            state.series[state.number(of: labels)].durations.add(seconds)
        }
    }

    func families() async -> [MetricFamily] {
        let state = state.withLock { $0 }
        let durations = state.series.map { MetricSeries($0.labels.metricLabels, $0.durations.value) }
        return [MetricFamily(Self.duration, durations), connections(state.names), strays(state.names)]
            + OriginSite.families(state.sites)
    }

    private func strays(_ names: [OriginEndpoint: String]) -> MetricFamily {
        var counts: [String: Int] = [:]
        for name in names.values { counts[name] = 0 }
        for (endpoint, count) in pool.strayCounts { counts[names[endpoint] ?? OriginLabels.other, default: 0] += count }
        let series = counts.sorted { $0.key < $1.key }
            .map { MetricSeries([.init("origin", $0.key)], .integer(Int64($0.value))) }
        return MetricFamily(
            MetricDescription(
                "holdfast_origin_stray_bytes_total",
                .counter,
                "Connections on which an origin sent bytes after the end of a response. Its connections are not reused for five minutes."
            ),
            series
        )
    }

    private func connections(_ names: [OriginEndpoint: String]) -> MetricFamily {
        var counts: [String: OriginPool.Count] = [:]
        for name in names.values { counts[name] = OriginPool.Count() }
        for (endpoint, count) in pool.counts {
            counts[names[endpoint.named] ?? OriginLabels.other, default: OriginPool.Count()].add(count)
        }
        let series = counts.sorted { $0.key < $1.key }.flatMap { name, count in
            [("active", count.open - count.idle), ("idle", count.idle)].map {
                MetricSeries([.init("origin", name), .init("state", $0)], .integer(Int64($1)))
            }
        }
        return MetricFamily(
            MetricDescription(
                "holdfast_origin_connections",
                .gauge,
                "Connections to an origin, by state: with a request in progress, or idle."
            ),
            series
        )
    }

    private static let duration = MetricDescription(
        "http_client_request_duration_seconds",
        .histogram(bounds: MetricDescription.durationBounds),
        "Time from request to response head, for requests to origins."
    )
}

extension OriginTelemetry.Labels {
    fileprivate var metricLabels: MetricLabels {
        let all = [
            ("http_request_method", KnownMethods.names[method]),
            ("http_response_status_code", isClass ? "\(status / 100)xx" : status == 0 ? "" : "\(status)"),
            ("error_type", error ?? ""),
            ("server_address", origin?.plainHost ?? OriginLabels.other),
            ("server_port", origin.map { "\($0.port)" } ?? ""),
        ]
        // A label without a value is the same as no label.
        return MetricLabels(all.filter { !$0.1.isEmpty })
    }
}

extension GatewayRoutes {
    /// The origins in order, without duplicates. Those that clients name have no labels.
    fileprivate var originNames: [String] {
        var seen: Set<String> = []
        return own.map(\.origin.name).filter { seen.insert($0).inserted }
    }
}
