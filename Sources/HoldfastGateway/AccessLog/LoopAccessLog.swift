import HTTPCache
import NIOCore
import Synchronization

/// The lines of one event loop, which alone uses it.
final class LoopAccessLog {
    /// Lines are handed over when they are so long, and at the latest after ``patience``.
    private static let batch = 64 << 10
    private static let patience = TimeAmount.milliseconds(100)

    var settings: AccessLog.Settings
    private let writer: LogWriter
    private let eventLoop: any EventLoop
    private let clock: any WallClock
    private var format = AccessLogFormat()
    private var bytes = ByteBuffer()
    private var lines = 0
    /// The bytes that the writer has and has not written yet.
    private let waiting = LogWriter.Waiting()
    private var isDue = false

    init(_ settings: AccessLog.Settings, _ writer: LogWriter, _ eventLoop: any EventLoop, clock: any WallClock) {
        self.settings = settings
        self.writer = writer
        self.eventLoop = eventLoop
        self.clock = clock
    }

    /// Whether every request is logged, hits too.
    var isOfAll: Bool { settings.level == .all }

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
