import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics
import ServiceLifecycle
import Synchronization

/// Records the history that the page shows: curves of the last hour and day, and outages. The page
/// is therefore useful even if no monitoring system scrapes the metrics.
///
/// Every second, the recorder checks whether origins are reachable and reads the outage totals,
/// because the numbers of an outage count from the second in which it began. Every ten seconds, it
/// reads the process's metrics. The engine reports outages that began and ended between two checks.
final class TrafficRecorder: Service {
    private struct State {
        var history = TrafficHistory()
        var outages = OutageLog()
        /// The last reading, which all pages share.
        var latest: Reading?
        var sampledAt: Timestamp?
        var measuredAt: Timestamp?
    }

    /// The metrics at one point in time.
    struct Reading: Sendable {
        var at: Timestamp
        var totals: TrafficTotals
        var gauges: TrafficGauges
    }

    /// The history that the page shows, at one point in time.
    struct Past: Sendable {
        var reading: Reading
        /// The traffic of the last minute and the last hour, as far as they were recorded.
        var recent: Stretch?
        var hour: Stretch?
        var outages: [OutageLog.Outage]
        /// The time of the oldest point of the last hour; before the first point, the time when the
        /// process started.
        var since: Timestamp
    }

    /// The traffic of a period.
    struct Stretch: Sendable {
        var seconds: Double
        var totals: TrafficTotals
    }

    private static let period = Duration.seconds(1)
    /// The time between counts of the store while no page is open, in milliseconds.
    private static let measuringStep = TrafficHistory.Window.day.step
    /// The maximum age of a reading that pages share, in milliseconds.
    private static let sharingTime: Int64 = 900

    private let operations: any CacheOperations
    private let registry: MetricsRegistry
    private let store: StoreWatch
    private let clock: any WallClock
    private let start: Timestamp
    private let state = Mutex(State())

    init(_ operations: any CacheOperations, _ registry: MetricsRegistry, _ store: StoreWatch, clock: any WallClock) {
        self.operations = operations
        self.registry = registry
        self.store = store
        self.clock = clock
        start = clock.now()
        // Do not count the store yet. An open page or a scrape counts it earlier if necessary.
        state.withLock { $0.measuredAt = start }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.tick()
                try? await Task.sleep(for: Self.period)
            }
        }
    }

    /// Checks the origins, and reads the metrics if a sample is due.
    func tick() async {
        let now = clock.now()
        let away = operations.origins.compactMap { condition -> OutageLog.Away? in
            guard condition.reachability == .unreachable else { return nil }
            return OutageLog.Away(origin: condition.origin, since: condition.since ?? now)
        }
        let ended = operations.endedOutages
        let totals = await operations.traffic?.outageTotals() ?? OutageTotals()
        let (isDue, measures) = state.withLock { state in
            state.outages.note(away, ended: ended, totals, at: now)
            let isDue = Self.isDue(state.sampledAt, TrafficHistory.Window.hour.step, at: now)
            let measures = isDue && Self.isDue(state.measuredAt, Self.measuringStep, at: now)
            if measures { state.measuredAt = now }
            return (isDue, measures)
        }
        guard isDue else { return }
        if measures { _ = await store.reading() }
        let reading = await read(at: now)
        let storeBytes = store.known?.statistics.usedBytes
        state.withLock { state in
            state.sampledAt = now
            state.history.record(TrafficHistory.Point(at: now, totals: reading.totals, storeBytes: storeBytes))
        }
    }

    /// Returns whether a sample is due. It may be half a second early, because the next tick may be
    /// late.
    private static func isDue(_ last: Timestamp?, _ step: Int64, at now: Timestamp) -> Bool {
        guard let last, now >= last else { return true }
        return now.milliseconds(since: last) >= step - 500
    }

    private func read(at now: Timestamp) async -> Reading {
        let families = await registry.quickFamilies()
        let reading = Reading(at: now, totals: TrafficTotals(families), gauges: TrafficGauges(families))
        state.withLock { $0.latest = reading }
        return reading
    }

    // MARK: Reports

    /// Returns the history up to now. The reading may be up to ``sharingTime`` old.
    func past() async -> Past {
        let now = clock.now()
        let known = state.withLock { $0.latest }
        let isNew = known.map { now >= $0.at && now.milliseconds(since: $0.at) < Self.sharingTime } ?? false
        let reading: Reading
        if let known, isNew { reading = known } else { reading = await read(at: now) }
        return state.withLock { state in
            func stretch(_ milliseconds: Int64) -> Stretch? {
                guard let point = state.history.point(within: milliseconds, of: reading.at) else { return nil }
                let length = reading.at.milliseconds(since: point.at)
                guard length > 0 else { return nil }
                return Stretch(seconds: Double(length) / 1000, totals: reading.totals - point.totals)
            }
            return Past(
                reading: reading,
                recent: stretch(65_000),
                hour: stretch(3_605_000),
                outages: state.outages.present,
                since: state.history.first?.at ?? start
            )
        }
    }

    /// Returns the curves of a window.
    func curves(_ window: TrafficHistory.Window) -> Curves { state.withLock { $0.history }.curves(window) }

    /// Returns the outages since the process started.
    func outages() -> OutagesReport {
        OutagesReport(state.withLock { $0.outages }, since: start, at: clock.now())
    }
}
