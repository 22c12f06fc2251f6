import HTTPTypes
import HTTPWire
import HoldfastMetrics
import Synchronization

/// The labels of one series of `http_server_request_duration_seconds`.
struct RequestLabels: Hashable, Sendable {
    var route: RouteLabel
    /// The index in ``KnownMethods/names``; the last index represents all other methods.
    var method: Int
    /// 0 if there was no response.
    var status: Int
    /// The index in ``versions``.
    var version: Int
    var isSecure = false
    /// The code of a problem, or of a response that was cut short.
    var error: String?

    /// The labels of the series that exists from the start, so that the first request shows up as
    /// an increase: a successful GET request over HTTP/1.1 on the first route.
    static let first = RequestLabels(
        route: RouteLabels.other + 1,
        method: KnownMethods.number(of: .get),
        status: 200,
        version: GatewayRequest.ReceivedProtocol.http11.rawValue
    )

    static let versions = GatewayRequest.ReceivedProtocol.allCases.map(\.version)
    static let schemes = ["http", "https"]
}

/// Assigns indexes to the label combinations that have occurred. All loops share it.
///
/// An origin chooses the status, so the number of combinations is limited. Later combinations count
/// without route, method and error, under their status class.
final class RequestSeries: Sendable {
    /// The maximum number of combinations with all their labels.
    static let limit = 96

    private let state = Mutex((labels: [RequestLabels.first], numbers: [RequestLabels.first: 0]))

    func number(of labels: RequestLabels) -> Int {
        state.withLock { state in
            if let number = state.numbers[labels] { return number }
            var kept = labels
            if state.labels.count >= Self.limit {
                kept = RequestLabels(
                    route: RouteLabels.other,
                    method: KnownMethods.names.count - 1,
                    status: labels.status / 100 * 100,
                    version: 1,
                    isSecure: labels.isSecure
                )
                if let number = state.numbers[kept] { return number }
            }
            state.labels.append(kept)
            state.numbers[kept] = state.labels.count - 1
            return state.labels.count - 1
        }
    }

    /// The labels of all indexes.
    var labels: [RequestLabels] { state.withLock { $0.labels } }
}

/// The durations of requests, by label combination. It belongs to one event loop.
struct RequestDurations: Sendable {
    private let series: RequestSeries
    private var numbers: [RequestLabels: Int] = [:]
    private var histograms = [Histogram(MetricDescription.durationBounds)]

    init(_ series: RequestSeries) { self.series = series }

    /// Returns the index of a label combination, for ``add(_:to:)``.
    mutating func number(of labels: RequestLabels) -> Int {
        if let number = numbers[labels] { return number }
        let number = series.number(of: labels)
        // Beyond the limit, an origin determines the number of combinations, so no more are kept.
        if numbers.count <= RequestSeries.limit { numbers[labels] = number }
        while histograms.count <= number { histograms.append(Histogram(MetricDescription.durationBounds)) }
        return number
    }

    mutating func add(_ seconds: Double, to number: Int) { histograms[number].add(seconds) }

    /// Adds another loop's durations.
    mutating func add(_ other: RequestDurations) {
        while histograms.count < other.histograms.count {
            histograms.append(Histogram(MetricDescription.durationBounds))
        }
        for (index, histogram) in other.histograms.enumerated() { histograms[index].add(histogram) }
    }

    /// Returns the metric.
    ///
    /// - Parameter names: the names of the routes, by their labels.
    func family(_ names: [String]) -> MetricFamily {
        let all = zip(series.labels, histograms).filter { labels, histogram in
            // Until there is a configuration, there is no first route.
            labels == .first ? labels.route < names.count : histogram.counts.contains { $0 > 0 }
        }
        return MetricFamily(Self.description, all.map { MetricSeries($0.labels(names), $1.value) })
    }

    private static let description = MetricDescription(
        "http_server_request_duration_seconds",
        .histogram(bounds: MetricDescription.durationBounds),
        "Duration of client requests, from the request's head to the end of the response."
    )
}

extension ExchangeRecord {
    /// The labels of the request's duration. An initializer of the labels would get a copy of the
    /// record.
    var labels: RequestLabels {
        RequestLabels(
            route: route,
            method: KnownMethods.number(of: request?.method),
            status: status ?? 0,
            version: (request?.receivedProtocol ?? .http11).rawValue,
            isSecure: client.isSecure,
            error: errorType
        )
    }
}

extension RequestLabels {
    fileprivate func labels(_ names: [String]) -> MetricLabels {
        let all = [
            ("http_request_method", KnownMethods.names[method]),
            ("http_response_status_code", status == 0 ? "" : "\(status)"),
            ("url_scheme", Self.schemes[isSecure ? 1 : 0]),
            ("network_protocol_version", Self.versions[version]),
            ("http_route", names[route]),
            ("error_type", error ?? (status >= 500 ? "\(status)" : "")),
        ]
        // A label without a value is the same as no label.
        return MetricLabels(all.filter { !$0.1.isEmpty })
    }
}
