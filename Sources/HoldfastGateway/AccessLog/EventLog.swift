import NIOCore
import Synchronization

/// Events on standard error, which one thread writes.
///
/// A reader that stalls would otherwise stop every thread that logs: an event loop, the store's
/// writer, the end of the process. Here a line that finds no room is dropped and counted.
package final class EventLog: TextOutputStream, Sendable {
    /// The most bytes that wait to be written. 1 MiB
    package static let bufferLimit = 1 << 20

    private let writer: LogWriter
    private let waiting = LogWriter.Waiting()
    private let reporter: Reporter

    /// Who is told of lost lines. It is set once the logger that writes here exists.
    private final class Reporter: Sendable {
        let report = Mutex<(@Sendable (LogLosses.Report) -> Void)?>(nil)
    }

    package init(_ destination: AccessLog.Destination = .standardError) {
        let reporter = Reporter()
        self.reporter = reporter
        writer = LogWriter(destination) { report, _ in reporter.report.withLock { $0 }?(report) }
    }

    /// The lines that were dropped.
    package var droppedCount: UInt64 { writer.droppedCount }

    /// Passes on when lines begin to be lost, with the reason, and when they no longer are, with
    /// their number. It is called on the thread that writes, and may log.
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

    /// Writes whole lines, soon. It never waits.
    package func write(_ lines: String) {
        let count = lines.utf8.count { $0 == UInt8(ascii: "\n") }
        guard waiting.bytes + lines.utf8.count <= Self.bufferLimit else { return writer.drop(count) }
        let bytes = ByteBuffer(string: lines)
        waiting.add(bytes.readableBytes)
        writer.write(LogWriter.Batch(bytes: bytes, lines: count, waiting: waiting))
    }

    /// Writes what waits, as far as that is possible within a time. Later lines are dropped.
    package func close(within time: Duration = .seconds(2)) async { await writer.close(within: time) }
}
