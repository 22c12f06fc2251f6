import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore

/// The access log lines of one event loop. Only that loop uses it.
final class LoopAccessLog {
    /// The size in bytes at which lines are handed to the writer, and the maximum time before that.
    private static let batch = 64 << 10
    private static let patience = TimeAmount.milliseconds(100)

    var settings: AccessLog.Settings {
        didSet {
            logsHits = settings.level == .all
            version += 1
        }
    }
    /// Whether hot-table hits are logged like other requests.
    private var logsHits: Bool
    /// The number of ``settings``. Lines prepared for other settings are not used.
    private var version = 0
    private let writer: LogWriter
    private let eventLoop: any EventLoop
    private let labels: RouteLabels
    /// The names of the routes that were needed so far.
    private var names: [String] = []
    private let clock: any WallClock
    /// See ``ResponseStore/shortID(of:)``.
    private let identify: @Sendable (CacheKey) -> String?
    private var format = AccessLogFormat()
    private var bytes = ByteBuffer()
    private var lines = 0
    /// The bytes that the writer has not written yet.
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
        logsHits = settings.level == .all
        self.writer = writer
        self.eventLoop = eventLoop
        self.clock = clock
    }

    /// Whether any lines are written.
    var isOn: Bool { settings.level != .off }

    /// Whether lines include the origin's response.
    var wantsOrigins: Bool { isOn && settings.format == .json }

    /// Logs a request if its level is enabled.
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

    /// Logs a hot-table hit if its level is enabled.
    func write(
        _ hit: some LoggedHit,
        _ duration: TimeAmount,
        client: @autoclosure () -> GatewayClient?,
        ordinal: @autoclosure () -> ExchangeRecord.Ordinal?
    ) {
        guard logsHits || (hit.status >= 400 && settings.level == .notable) else { return }
        guard hasRoom else { return writer.drop(1) }
        guard let line = line(of: hit) else { return }
        let values = AccessLogTemplate.Values(
            client: client(),
            time: clock.now(),
            duration: duration,
            ordinal: ordinal()
        )
        line.write(values, &format, to: &bytes)
        endLine()
    }

    private func line(of hit: some LoggedHit) -> AccessLogTemplate? {
        if let line = hit.logLine, line.version == version { return line }
        guard var entry = hit.logEntry(route: name(of: hit.route)) else { return nil }
        if settings.format == .json { entry.cacheID = hit.shortID(identify) }
        let line = AccessLogTemplate(entry, settings, version: version, &format)
        hit.logLine = line
        return line
    }

    private func name(of route: RouteLabel) -> String? {
        guard route != RouteLabels.none else { return nil }
        if route >= names.count { names = labels.names }
        return names.indices.contains(route) ? names[route] : nil
    }

    /// Logs a request with the current time.
    func write(_ entry: AccessLogEntry) {
        guard hasRoom else { return writer.drop(1) }
        var entry = entry
        entry.time = clock.now()
        format.write(entry, settings, to: &bytes)
        endLine()
    }

    private var hasRoom: Bool {
        bytes.readableBytes + waiting.bytes < AccessLog.bufferLimit - AccessLogFormat.lineLimit
    }

    private func endLine() {
        lines += 1
        if bytes.readableBytes >= Self.batch { return handOver() }
        guard !isDue else { return }
        isDue = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
            self.isDue = false
            self.handOver()
        }
    }

    /// Hands all lines to the writer.
    func handOver() {
        guard bytes.readableBytes > 0 else { return }
        waiting.add(bytes.readableBytes)
        writer.write(LogWriter.Batch(bytes: bytes, lines: lines, waiting: waiting))
        // The writer now holds this memory.
        bytes = ByteBuffer()
        lines = 0
    }
}

/// A response whose line is written many times.
protocol LoggedHit: AnyObject {
    var route: RouteLabel { get }
    var status: Int { get }
    /// The last line, prepared for the next one.
    var logLine: AccessLogTemplate? { get set }
    /// Returns the entry, without client, time and duration; `nil` if it cannot be logged.
    func logEntry(route name: String?) -> AccessLogEntry?
    /// Returns the short ID of the stored response.
    func shortID(_ identify: (CacheKey) -> String?) -> String?
}
