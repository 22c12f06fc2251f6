import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// The lines of one event loop, which alone uses it.
final class LoopAccessLog {
    /// Lines are handed over when they are so long, and at the latest after ``patience``.
    private static let batch = 64 << 10
    private static let patience = TimeAmount.milliseconds(100)

    var settings: AccessLog.Settings
    private let writer: LogWriter
    private let eventLoop: any EventLoop
    private let labels: RouteLabels
    /// The names of routes, as far as they were needed.
    private var names: [String] = []
    private let clock: any WallClock
    /// See ``ResponseStore/shortID(of:)``.
    private let identify: @Sendable (CacheKey) -> String?
    private var format = AccessLogFormat()
    private var bytes = ByteBuffer()
    private var lines = 0
    /// The bytes that the writer has and has not written yet.
    private let waiting = LogWriter.Waiting()
    private var isDue = false

    init(
        _ settings: AccessLog.Settings,
        _ writer: LogWriter,
        _ eventLoop: any EventLoop,
        _ labels: RouteLabels,
        _ identify: @escaping @Sendable (CacheKey) -> String?,
        clock: any WallClock
    ) {
        self.identify = identify
        self.labels = labels
        self.settings = settings
        self.writer = writer
        self.eventLoop = eventLoop
        self.clock = clock
    }

    /// Whether any line is written.
    var isOn: Bool { settings.level != .off }

    /// Whether a line says how an origin responded.
    var wantsOrigins: Bool { isOn && settings.format == .json }

    /// Logs a request, if the level has it.
    func write(_ record: ExchangeRecord) {
        switch settings.level {
        case .off: return
        case .notable: guard record.isNotable else { return }
        case .all: break
        }
        var entry = AccessLogEntry(record, route: name(of: record.route))
        if settings.format == .json { entry.cacheID = record.facts?.storedKey.flatMap(identify) }
        write(entry)
    }

    /// Logs a hit of the hot table, if the level has it.
    func write(
        _ hit: HotResponse,
        from start: NIODeadline,
        _ client: @autoclosure () -> String?,
        _ place: @autoclosure () -> ExchangeRecord.Place?
    ) {
        guard settings.level == .all || (hit.status >= 400 && settings.level == .notable), var entry = hit.logEntry
        else { return }
        entry.duration = .nanoseconds((NIODeadline.now() - start).nanoseconds)
        entry.firstByte = entry.duration
        if let place = place() { (entry.connectionID, entry.connectionRequests) = (place.connection, place.request) }
        if settings.format == .json { entry.cacheID = hit.shortID(identify) }
        entry.client = client()
        entry.route = name(of: hit.route)
        (entry.age, entry.timeToLive) = (hit.seconds.age, hit.seconds.timeToLive)
        entry.cacheStatus = CacheOutcome(isHit: true, timeToLive: hit.seconds.timeToLive).cacheStatus()
        write(entry)
    }

    private func name(of route: RouteLabel) -> String? {
        guard route != RouteLabels.none else { return nil }
        if route >= names.count { names = labels.names }
        return names.indices.contains(route) ? names[route] : nil
    }

    /// Logs a request. Its time is now.
    func write(_ entry: AccessLogEntry) {
        guard bytes.readableBytes + waiting.bytes < AccessLog.bufferLimit - AccessLogFormat.lineLimit else {
            return writer.drop(1)
        }
        var entry = entry
        entry.time = clock.now()
        format.write(entry, settings, to: &bytes)
        lines += 1
        if bytes.readableBytes >= Self.batch { return handOver() }
        guard !isDue else { return }
        isDue = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
            self.isDue = false
            self.handOver()
        }
    }

    /// Hands all lines over to be written.
    func handOver() {
        guard bytes.readableBytes > 0 else { return }
        waiting.add(bytes.readableBytes)
        writer.write(LogWriter.Batch(bytes: bytes, lines: lines, waiting: waiting))
        // The writer holds the memory.
        bytes = ByteBuffer()
        lines = 0
    }
}
