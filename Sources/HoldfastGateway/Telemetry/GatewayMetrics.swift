import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPWire
import HoldfastMetrics
import NIOCore
import Synchronization

/// Reports the counters of a gateway's event loops, summed at each scrape.
final class GatewayMetrics: MetricsCollector, TrafficOperations {
    private struct Loop {
        let eventLoop: any EventLoop
        let telemetry: NIOLoopBoundBox<LoopTelemetry>
        let timer: RepeatedTask
    }

    private let series = RequestSeries()
    private let labels: RouteLabels
    private let engine: CacheEngine
    private let certificates: CertificateRegistry
    private let admission: Admission
    private let loops = Mutex<[Loop]>([])

    init(
        _ labels: RouteLabels,
        _ engine: CacheEngine,
        _ certificates: CertificateRegistry,
        _ admission: Admission = Admission()
    ) {
        self.admission = admission
        self.labels = labels
        self.engine = engine
        self.certificates = certificates
    }

    /// Creates the counters for another loop.
    func add(_ eventLoop: any EventLoop) -> NIOLoopBoundBox<LoopTelemetry> {
        let telemetry = NIOLoopBoundBox.makeBoxSendingValue(
            LoopTelemetry(series, now: { [engine] in engine.now }),
            eventLoop: eventLoop
        )
        let timer = eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: LoopTelemetry.lagPeriod) { _ in
            telemetry.value.tick()
        }
        loops.withLock { $0.append(Loop(eventLoop: eventLoop, telemetry: telemetry, timer: timer)) }
        return telemetry
    }

    /// Stops measuring on all loops. Their numbers remain available.
    func stop() {
        for loop in loops.withLock({ $0 }) { loop.timer.cancel() }
    }

    func families() async -> [MetricFamily] {
        var sum = LoopTelemetry.Numbers(series)
        for loop in loops.withLock({ $0 }) {
            // This fails if the loop has shut down.
            let numbers = try? await loop.eventLoop.submit { loop.telemetry.value.numbers }.get()
            if let numbers { sum.add(numbers) }
        }
        let hasTLS = !certificates.isEmpty
        return sum.families(labels.names, hasTLS: hasTLS) + gauges
            + (hasTLS ? [sum.handshakeFailures] + certificates.families() : [])
    }

    /// Returns the latest responses that were not stored.
    func notStored() async -> [NotStoredExample] {
        var memories: [NotStoredMemory] = []
        for loop in loops.withLock({ $0 }) {
            if let memory = try? await loop.eventLoop.submit({ loop.telemetry.value.notStored }).get() {
                memories.append(memory)
            }
        }
        return NotStoredMemory.latest(memories, routes: labels.names)
    }

    func watch(_ url: TargetURI) async {
        let target = NotStoredMemory.Watched(
            authority: url.authority,
            target: url.requestTarget,
            until: .now() + .minutes(1)
        )
        for loop in loops.withLock({ $0 }) {
            try? await loop.eventLoop.submit { loop.telemetry.value.watch(target) }.get()
        }
    }

    func outageTotals() async -> OutageTotals {
        var sum = OutageTotals()
        for loop in loops.withLock({ $0 }) {
            guard let totals = try? await loop.eventLoop.submit({ loop.telemetry.value.outageTotals }).get() else {
                continue
            }
            sum.served += totals.served
            sum.refused += totals.refused
            sum.oldest = max(sum.oldest, totals.oldest)
        }
        return sum
    }

    private var gauges: [MetricFamily] {
        [
            gauge("holdfast_in_flight_fetches", "In-flight fetches from origins.", engine.inFlightFetchCount),
            gauge(
                "holdfast_in_flight_fetch_waiters",
                "Requests waiting for the head of an in-flight fetch.",
                engine.memberCount
            ),
            gauge(
                "holdfast_tunnels",
                "Tunnels that are opening, open or closing.",
                admission.tunnels.count
            ),
            gauge(
                "holdfast_limited_clients",
                "Clients whose requests are counted by rates.",
                admission.guards.clientCount
            ),
        ]
    }

    private func gauge(_ name: String, _ help: String, _ count: Int) -> MetricFamily {
        MetricFamily(MetricDescription(name, .gauge, help), [MetricSeries(.integer(Int64(count)))])
    }
}

extension LoopTelemetry.Numbers {
    /// Returns the metrics about the staleness of served responses.
    private func staleFamilies(_ names: [String]) -> [MetricFamily] {
        let staleness = zip(names, staleness).filter { $1.counts.contains { $0 > 0 } }
        return [
            MetricFamily(
                MetricDescription(
                    "holdfast_stale_age_seconds",
                    .histogram(bounds: LoopTelemetry.stalenessBounds),
                    "How long stale responses had been stale when they were served, in seconds."
                ),
                staleness.map { MetricSeries([.init("route", $0)], $1.value) }
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_stale_oldest_age_seconds",
                    .gauge,
                    "Highest age of a stale response served in this minute or the previous minute."
                ),
                [MetricSeries(.integer(max(oldest.present, oldest.before)))]
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_offline_oldest_age_seconds",
                    .gauge,
                    "Highest age of a response served in the last four seconds because its origin was unreachable."
                ),
                [MetricSeries(.integer(oldestOfOutage.max() ?? 0))]
            ),
        ]
    }

    /// Returns the metrics.
    ///
    /// - Parameters:
    ///   - names: the names of the routes, by their labels.
    ///   - hasTLS: whether a listener uses TLS.
    func families(_ names: [String], hasTLS: Bool = false) -> [MetricFamily] {
        return [
            durations.family(names),
            MetricFamily(
                MetricDescription("http_server_active_requests", .gauge, "Client requests in progress."),
                activeSeries(hasTLS ? RequestLabels.schemes : ["http"])
            ),
        ] + counters.families(names) + staleFamilies(names) + [
            MetricFamily(
                MetricDescription("holdfast_refusals_total", .counter, "Problems returned to clients, by code."),
                // Each series exists from the start, so that the first problem shows up as an
                // increase.
                zip(Problem.codes + [Problem.otherCode], problems).map {
                    MetricSeries([.init("problem", $0)], .integer(Int64($1)))
                }
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_client_connections",
                    .gauge,
                    "Open client connections, by state: with a request in progress, between requests, or closing."
                ),
                ConnectionState.allCases.map {
                    MetricSeries([.init("state", "\($0)")], .integer(Int64(open[$0.rawValue])))
                }
            ),
            single("holdfast_client_connections_total", "Client connections accepted.", connections),
            MetricFamily(
                MetricDescription(
                    "holdfast_proxy_protocol_refusals_total",
                    .counter,
                    "Connections closed because they lacked a valid PROXY protocol header from a trusted peer, by reason."
                ),
                zip(ProxyRefusal.allCases, refusedHeaders).map {
                    MetricSeries([.init("reason", $0.rawValue)], .integer(Int64($1)))
                }
            ),
            single(
                "holdfast_client_aborts_total",
                "Requests whose client disconnected before the end of the response.",
                aborts
            ),
            MetricFamily(
                MetricDescription(
                    "holdfast_loop_lag_seconds",
                    .histogram(bounds: MetricDescription.durationBounds),
                    "How late an event loop runs a task that is due, measured every second."
                ),
                [MetricSeries(lag.value)]
            ),
        ]
    }

    private func activeSeries(_ schemes: [String]) -> [MetricSeries] {
        let labels = schemes.flatMap { scheme in
            KnownMethods.names.map { [("http_request_method", $0), ("url_scheme", scheme)] }
        }
        return zip(labels, active).map { MetricSeries(MetricLabels($0), .integer(Int64($1))) }
    }

    fileprivate var handshakeFailures: MetricFamily {
        MetricFamily(
            MetricDescription(
                "holdfast_tls_handshake_failures_total",
                .counter,
                "TLS handshakes with clients that failed, by reason."
            ),
            zip(HandshakeFailure.allCases, failedHandshakes).map {
                MetricSeries([.init("reason", $0.rawValue)], .integer(Int64($1)))
            }
        )
    }

    private func single(_ name: String, _ help: String, _ count: UInt64) -> MetricFamily {
        MetricFamily(MetricDescription(name, .counter, help), [MetricSeries(.integer(Int64(count)))])
    }
}
