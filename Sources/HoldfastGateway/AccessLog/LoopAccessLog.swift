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
    private let identify: @Sendable (StoreKey) -> String?
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
        _ identify: @escaping @Sendable (StoreKey) -> String?,
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

    /// Whether lines include the origin's response.
    var wantsOrigins: Bool { settings.level != .off && settings.format == .json }

    /// Logs a request, or a refused connection, if its level is enabled.
    func write(_ record: ExchangeRecord) {
        switch settings.level {
        case .off: return
        case .notable: guard record.isNotable else { return }
        case .all: break
        }
        guard hasRoom else { return writer.drop(1) }
        format.write(entry(of: record), settings, to: &bytes)
        endLine()
    }

    /// Whether hits of the hot table with this status and duration are logged.
    func wantsHits(_ status: Int, _ duration: TimeAmount) -> Bool {
        logsHits || (ExchangeRecord.isNotable(status, duration) && settings.level == .notable)
    }

    /// Logs a request whose line differs from earlier lines only in its values.
    ///
    /// - Parameters:
    ///   - values: apart from the time, which is the current one.
    ///   - line: the prepared line; replaced if it does not follow the current settings.
    ///   - record: the request, for a new line; `nil` if it cannot be logged.
    func write(
        _ values: AccessLogTemplate.Values,
        repeating line: inout AccessLogTemplate?,
        _ record: () -> ExchangeRecord?
    ) {
        guard hasRoom else { return writer.drop(1) }
        if line?.version != version {
            line = record().map { AccessLogTemplate(entry(of: $0), settings, version: version, &format) }
        }
        guard let line else { return }
        var values = values
        values.time = clock.now()
        line.write(values, &format, to: &bytes)
        endLine()
    }

    private func entry(of record: ExchangeRecord) -> AccessLogEntry {
        var entry = AccessLogEntry(record, route: name(of: record.route))
        entry.time = clock.now()
        if settings.format == .json { entry.cacheID = record.facts?.storedKey.flatMap(identify) }
        return entry
    }

    private func name(of route: RouteLabel) -> String? {
        guard route != RouteLabels.none else { return nil }
        if route >= names.count { names = labels.names }
        return names.indices.contains(route) ? names[route] : nil
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
