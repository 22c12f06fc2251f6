import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastMetrics
import NIOCore

/// The numbers that one event loop counts. Only that loop uses it, so it needs no lock, and no
/// processor waits for another.
final class LoopTelemetry {
    /// The numbers at one moment. Those of several loops can be added.
    struct Numbers: Sendable {
        var counters = RouteCounters()
        var durations: RequestDurations
        /// Seconds beyond freshness of stale responses, by route.
        var staleness = [Histogram](repeating: Histogram(stalenessBounds), count: RouteLabels.count)
        /// Requests under way, by the number of their method: without TLS, then with TLS.
        var active = [Int](repeating: 0, count: 2 * RequestLabels.methods.count)
        /// Handshakes of TLS that failed, by the number of their reason.
        var failedHandshakes = [UInt64](repeating: 0, count: HandshakeFailure.allCases.count)
        /// Connections that were closed for want of a header of the PROXY protocol, by the number
        /// of the reason.
        var refusedHeaders = [UInt64](repeating: 0, count: ProxyRefusal.allCases.count)
        /// Problems that clients got, by the numbers of their codes.
        var problems = [UInt64](repeating: 0, count: Problem.codes.count + 1)
        /// Connections that were accepted, also those that were one too many.
        var connections: UInt64 = 0
        /// Connections that are open, by the numbers of their states.
        var open = [Int](repeating: 0, count: ConnectionState.allCases.count)
        /// Clients that went away before the end of their response.
        var aborts: UInt64 = 0
        var lag = Histogram(MetricDescription.durationBounds)
        /// The greatest age in seconds of a stale response that was served in this minute, and in
        /// the one before.
        var oldest: (present: Int64, before: Int64) = (0, 0)
        /// The same of responses that were served because their origin could not be reached, in
        /// this second and in each of the ones before. The page looks each second, or a little
        /// later.
        var oldestOfOutage: [Int64] = [0, 0, 0, 0]
        /// Responses that were served because their origin could not be reached, and requests that
        /// could not be answered without it.
        var outage: (served: Int64, refused: Int64) = (0, 0)

        init(_ series: RequestSeries) { durations = RequestDurations(series) }

        mutating func add(_ other: Numbers) {
            counters.add(other.counters)
            durations.add(other.durations)
            for (route, histogram) in other.staleness.enumerated() { staleness[route].add(histogram) }
            for (method, count) in other.active.enumerated() { active[method] += count }
            for (code, count) in other.problems.enumerated() { problems[code] += count }
            for (reason, count) in other.failedHandshakes.enumerated() { failedHandshakes[reason] += count }
            for (reason, count) in other.refusedHeaders.enumerated() { refusedHeaders[reason] += count }
            connections += other.connections
            for (state, count) in other.open.enumerated() { open[state] += count }
            aborts += other.aborts
            lag.add(other.lag)
            oldest = (max(oldest.present, other.oldest.present), max(oldest.before, other.oldest.before))
            for (second, age) in other.oldestOfOutage.enumerated() {
                oldestOfOutage[second] = max(oldestOfOutage[second], age)
            }
            outage = (outage.served + other.outage.served, outage.refused + other.outage.refused)
        }
    }

    /// Minute, five minutes, hour, six hours, day, week, 30 days.
    static let stalenessBounds: [Double] = [60, 300, 3600, 21_600, 86_400, 604_800, 2_592_000]
    static let lagPeriod = TimeAmount.seconds(1)

    private(set) var numbers: Numbers
    /// When the next tick is due.
    private var due: NIODeadline?

    /// Gets a line for each request that it is to have.
    var log: LoopAccessLog?

    private(set) var notStored = NotStoredMemory()
    private let clock: () -> Timestamp
    private var ticks = 0

    /// - Parameter now: the time of the forecast.
    init(_ series: RequestSeries, now: @escaping () -> Timestamp = { SystemWallClock().now() }) {
        numbers = Numbers(series)
        clock = now
    }

    // MARK: Requests

    /// A request has begun: ``end(_:)`` belongs to it.
    func begin(_ method: HTTPRequest.Method, of client: GatewayClient) { addActive(1, method, client) }

    func end(_ method: HTTPRequest.Method, of client: GatewayClient) { addActive(-1, method, client) }

    private func addActive(_ count: Int, _ method: HTTPRequest.Method, _ client: GatewayClient) {
        let first = client.isSecure ? RequestLabels.methods.count : 0
        numbers.active[first + RequestLabels.number(of: method)] += count
    }

    /// Counts a request and its response.
    func record(_ record: ExchangeRecord) {
        log?.write(record)
        let labels = RequestLabels(
            route: record.route,
            method: RequestLabels.number(of: record.request?.method),
            status: record.status ?? 0,
            version: (record.request?.receivedProtocol ?? .http11).rawValue,
            isSecure: record.client.isSecure,
            error: record.errorType
        )
        let number = numbers.durations.number(of: labels)
        numbers.durations.add(record.measuredDuration.seconds, to: number)
        record.count(in: &numbers.counters)
        record.countForecast(in: &numbers.counters, at: clock)
        notStored.take(record, at: clock)
        if let facts = record.facts, facts.isStale {
            numbers.staleness[record.route].add(Double(facts.staleness))
            let age = (facts.age ?? 0) / 1000
            numbers.oldest.present = max(numbers.oldest.present, age)
            if facts.outcome.isOfOutage {
                numbers.oldestOfOutage[0] = max(numbers.oldestOfOutage[0], age)
                numbers.outage.served += 1
            }
        }
        if record.facts?.refusal != nil { numbers.outage.refused += 1 }
        if let problem = record.facts?.problem { numbers.problems[Problem.number(ofCode: problem)] += 1 }
        if record.abort == .client { numbers.aborts += 1 }
    }

    /// The number of the durations of a response from the hot table.
    func number(
        of route: RouteLabel,
        _ method: HTTPRequest.Method?,
        _ status: Int,
        _ receivedProtocol: GatewayRequest.ReceivedProtocol,
        isSecure: Bool
    ) -> Int {
        let labels = RequestLabels(
            route: route,
            method: RequestLabels.number(of: method),
            status: status,
            version: receivedProtocol.rawValue,
            isSecure: isSecure
        )
        return numbers.durations.number(of: labels)
    }

    /// Counts a response from the hot table, and logs it if the level has it.
    ///
    /// - Parameters:
    ///   - start: when the request's head had arrived.
    ///   - isSecure: whether it came by TLS.
    func recordHotHit(
        _ response: HotResponse,
        since start: NIODeadline,
        isSecure: Bool,
        client: @autoclosure () -> GatewayClient?,
        ordinal: @autoclosure () -> ExchangeRecord.Ordinal?
    ) {
        let duration = NIODeadline.now() - start
        numbers.durations.add(duration.seconds, to: response.durations(isSecure: isSecure, in: self))
        let weight = numbers.counters.addHotHit(
            response.contentLength,
            of: response.route,
            isForecast: response.isForecast
        )
        if let weight, let forecast = response.forecast(at: clock(), weight: weight) {
            numbers.counters.add(forecast, of: response.route, weight: weight)
        }
        log?.write(response, duration, client: client(), ordinal: ordinal())
    }

    /// Counts a tunnel that has ended.
    func count(_ ending: TunnelMachine.Ending, of route: RouteLabel) {
        guard let number = TunnelMachine.Ending.allCases.firstIndex(of: ending) else { return }
        numbers.counters.add(RouteCounters.tunnels, number, of: route)
    }

    // MARK: Connections

    func countConnection() { numbers.connections += 1 }

    func count(_ failure: HandshakeFailure) { numbers.failedHandshakes[failure.number] += 1 }

    func count(_ refusal: ProxyRefusal) { numbers.refusedHeaders[refusal.number] += 1 }

    /// Counts a connection in another state.
    ///
    /// - Parameters:
    ///   - old: the state so far; `nil` for one that is new.
    ///   - new: `nil` for one that has ended.
    func countConnection(_ old: ConnectionState?, to new: ConnectionState?) {
        if let old { numbers.open[old.rawValue] -= 1 }
        if let new { numbers.open[new.rawValue] += 1 }
    }

    /// Counts a problem that answers no request.
    func count(_ problem: Problem) { numbers.problems[Problem.number(ofCode: problem.code)] += 1 }

    /// The numbers of outages alone, which are read each second.
    var outageTotals: OutageTotals {
        OutageTotals(
            served: numbers.outage.served,
            refused: numbers.outage.refused,
            oldest: numbers.oldestOfOutage.max() ?? 0
        )
    }

    // MARK: The loop

    /// Call it each ``lagPeriod``. It measures how late the loop performs what is due.
    func tick(at now: NIODeadline = .now()) {
        if let due { numbers.lag.add(max(0, (now - due).seconds)) }
        ticks += 1
        if ticks % 60 == 0 { numbers.oldest = (0, numbers.oldest.present) }
        numbers.oldestOfOutage.removeLast()
        numbers.oldestOfOutage.insert(0, at: 0)
        numbers.counters.renewLooks()
        due = now + Self.lagPeriod
    }
}

extension TimeAmount {
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
