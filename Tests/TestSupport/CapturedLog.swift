package import Logging
import Synchronization

/// A log whose events tests read.
package final class CapturedLog: Sendable {
    /// An event of a log.
    package struct Event: Sendable {
        package let level: Logger.Level
        package let message: String
        /// The metadata of the event and of its logger, as text.
        package let metadata: [String: String]

        /// The message and the metadata in one line.
        package var line: String {
            ([message] + metadata.map { "\($0.key)=\($0.value)" }.sorted()).joined(separator: " ")
        }
    }

    private let captured = Mutex<[Event]>([])

    package init() {}

    /// All events, in their order.
    package var events: [Event] { captured.withLock { $0 } }

    /// The line of each event.
    package var lines: [String] { events.map(\.line) }

    /// All lines, for tests of what may not be in a log.
    package var text: String { lines.joined(separator: "\n") }

    /// Removes all events, and returns them.
    package func take() -> [Event] {
        captured.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Returns a logger that captures the events of this level and above.
    package func logger(_ level: Logger.Level = .trace) -> Logger {
        Logger(label: "captured") { _ in Handler(log: self, logLevel: level) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var logLevel: Logger.Level
        var metadata = Logger.Metadata()

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
            let captured = Event(level: event.level, message: "\(event.message)", metadata: all)
            log.captured.withLock { $0.append(captured) }
        }
    }
}
