import NIOCore
import Synchronization

/// Log events on standard error, written by one thread.
///
/// If each thread wrote its own events, a stalled reader would stop every thread that logs: an
/// event loop, the store's writer, the shutdown. Here, a line is dropped and counted if the buffer
/// is full.
package final class EventLog: TextOutputStream, Sendable {
    /// The maximum number of unwritten bytes: 1 MiB
    package static let bufferLimit = 1 << 20

    private let writer: LogWriter
    private let waiting = LogWriter.Waiting()
    private let reporter: Reporter

    /// The callback for lost lines. It is set once a logger that writes here exists.
    private final class Reporter: Sendable {
        let report = Mutex<(@Sendable (LogLosses.Report) -> Void)?>(nil)
    }

    package init(_ destination: AccessLog.Destination = .standardError) {
        let reporter = Reporter()
        self.reporter = reporter
        writer = LogWriter(destination) { report, _ in reporter.report.withLock { $0 }?(report) }
    }

    /// The number of dropped lines.
    package var droppedCount: UInt64 { writer.droppedCount }

    /// Reports when lines start to be lost, with the reason, and when losses end, with the number
    /// of lost lines. The callback runs on the writer thread, and may log.
    package func onLosses(
        begin: @escaping @Sendable (_ reason: String) -> Void,
        end: @escaping @Sendable (_ lost: UInt64) -> Void
    ) {
        reporter.report.withLock {
            $0 = { report in
                switch report {
                case .none: break
                case .begin(let code): begin(LogLosses.reason(code))
                case .end(let lost): end(lost)
                }
            }
        }
    }

    /// Queues whole lines for writing. Never waits.
    package func write(_ lines: String) {
        let count = lines.utf8.count { $0 == UInt8(ascii: "\n") }
        guard waiting.bytes + lines.utf8.count <= Self.bufferLimit else { return writer.drop(count) }
        let bytes = ByteBuffer(string: lines)
        waiting.add(bytes.readableBytes)
        writer.write(LogWriter.Batch(bytes: bytes, lines: count, waiting: waiting))
    }

    /// Writes the queued lines, until the time is up. Later lines are dropped.
    package func close(within time: Duration = .seconds(2)) async { await writer.close(within: time) }
}
