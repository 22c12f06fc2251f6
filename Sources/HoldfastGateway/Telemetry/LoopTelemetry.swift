import EventLoops
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastMetrics
import NIOCore

/// The counters of one event loop. Only that loop uses it, so it needs no lock, and processors do
/// not wait for each other.
final class LoopTelemetry {
    /// The numbers at one moment. The numbers of several loops can be added.
    struct Numbers: Sendable {
        var counters = RouteCounters()
        var durations: RequestDurations
        /// The staleness of stale responses in seconds, by route.
        var staleness = [Histogram](repeating: Histogram(stalenessBounds), count: RouteLabels.count)
        /// Requests in progress, by the index of their method: without TLS, then with TLS.
        var active = [Int](repeating: 0, count: 2 * KnownMethods.names.count)
        /// Failed TLS handshakes, by the index of the reason.
        var failedHandshakes = [UInt64](repeating: 0, count: HandshakeFailure.allCases.count)
        /// Connections closed because of a missing or invalid PROXY protocol header, by the index
        /// of the reason.
        var refusedHeaders = [UInt64](repeating: 0, count: ProxyRefusal.allCases.count)
        /// Problems sent to clients, by the index of the code.
        var problems = [UInt64](repeating: 0, count: Problem.codes.count + 1)
        /// Accepted connections, including connections beyond the limit.
        var connections: UInt64 = 0
        /// Open connections, by the index of their state.
        var open = [Int](repeating: 0, count: ConnectionState.allCases.count)
        /// Clients that disconnected before the end of their response.
        var aborts: UInt64 = 0
        var lag = Histogram(MetricDescription.durationBounds)
        /// The greatest age in seconds of a stale response served in this minute, and in the
        /// previous one.
        var oldest: (present: Int64, before: Int64) = (0, 0)
        /// The greatest age in seconds of a response served because its origin was unreachable, in
        /// this second and in each of the three previous seconds. The status page reads this every
        /// second, or slightly less often.
        var oldestOfOutage: [Int64] = [0, 0, 0, 0]
        /// Responses served because their origin was unreachable, and requests that could not be
        /// answered without their origin.
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

    /// The bounds for staleness in seconds: a minute, 5 minutes, an hour, 6 hours, a day, a week,
    /// 30 days.
    static let stalenessBounds: [Double] = [60, 300, 3600, 21_600, 86_400, 604_800, 2_592_000]
    static let lagPeriod = TimeAmount.seconds(1)

    var numbers: Numbers
    /// The time when the next tick is due.
    private var due: NIODeadline?

    /// Writes a line for each record to be logged.
    var log: LoopAccessLog?

    private(set) var notStored = NotStoredMemory()
    let clock: () -> Timestamp
    private var ticks = 0

    /// - Parameter now: returns the time for the forecast.
    init(_ series: RequestSeries, now: @escaping () -> Timestamp = { SystemWallClock().now() }) {
        numbers = Numbers(series)
        clock = now
    }

    /// Records each response for a target that is not stored.
    func watch(_ target: NotStoredMemory.Watched) { notStored.watched = target }

    // MARK: Requests

    /// Counts a request in progress. Call ``end(_:)`` for it later.
    func begin(_ method: HTTPRequest.Method, of client: GatewayClient) { addActive(1, method, client) }

    func end(_ method: HTTPRequest.Method, of client: GatewayClient) { addActive(-1, method, client) }

    private func addActive(_ count: Int, _ method: HTTPRequest.Method, _ client: GatewayClient) {
        let first = client.isSecure ? KnownMethods.names.count : 0
        numbers.active[first + KnownMethods.number(of: method)] += count
    }

    /// Counts a request that has ended, or a refused connection, and logs it if its level is
    /// enabled.
    func record(_ record: ExchangeRecord) {
        log?.write(record)
        if let problem = record.facts?.problem { numbers.problems[Problem.number(ofCode: problem)] += 1 }
        if record.isOfConnection { return }
        let number = numbers.durations.number(of: record.labels)
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
        if record.abort == .client { numbers.aborts += 1 }
    }

    /// Counts a request that the hot table has served, and logs it if its level is enabled. The
    /// result is that of ``record(_:)``, but the record is made only if a line needs it.
    ///
    /// - Parameter start: the time when the request's head had arrived.
    func record(
        _ hit: RecordedHit,
        since start: NIODeadline,
        of client: GatewayClient,
        at ordinal: ExchangeRecord.Ordinal
    ) {
        let end = NIODeadline.now()
        let duration = end - start
        numbers.durations.add(duration.seconds, to: hit.durations(isSecure: client.isSecure, in: self))
        let weight = numbers.counters.addHotHit(hit.sentBytes, of: hit.route, isForecast: hit.isForecast)
        if let weight, let forecast = hit.forecast(at: clock(), weight: weight) {
            numbers.counters.add(forecast, of: hit.route, weight: weight)
        }
        guard let log, log.wantsHits(hit.status, duration) else { return }
        let values = AccessLogTemplate.Values(client: client, duration: duration, ordinal: ordinal)
        log.write(values, repeating: &hit.line) { hit.record(from: start, to: end, of: client, at: ordinal) }
    }

    // MARK: Connections

    func countConnection() { numbers.connections += 1 }

    func count(_ failure: HandshakeFailure) { numbers.failedHandshakes[failure.number] += 1 }

    func count(_ refusal: ProxyRefusal) { numbers.refusedHeaders[refusal.number] += 1 }

    /// Counts a connection's change of state.
    ///
    /// - Parameters:
    ///   - old: the previous state; `nil` for a new connection.
    ///   - new: `nil` for a connection that has ended.
    func countConnection(_ old: ConnectionState?, to new: ConnectionState?) {
        if let old { numbers.open[old.rawValue] -= 1 }
        if let new { numbers.open[new.rawValue] += 1 }
    }

    /// The outage numbers only, which are read every second.
    var outageTotals: OutageTotals {
        OutageTotals(
            served: numbers.outage.served,
            refused: numbers.outage.refused,
            oldest: numbers.oldestOfOutage.max() ?? 0
        )
    }

    // MARK: The loop

    /// Measures how late the loop runs its due work. Call this every ``lagPeriod``.
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
