import HTTPCacheSemantics
import HTTPWire
import Logging
import Synchronization
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct UnknownHostLogTests {
    private let hosts = LoggedHosts()

    /// Mutant: `every-unknown-host-is-logged`.
    @Test func logsAHostAtMostOnceAMinute() {
        let log = UnknownHostLog(hosts.logger)
        let start = Timestamp(seconds: 1000)
        for (milliseconds, name) in [
            (0, "a.test"), (1, "b.test"), (59_999, "c.test"), (60_000, "d.test:8080"), (60_001, "e.test"),
            // The clock was set back.
            (10_000, "f.test"), (70_000, "not a host"),
        ] as [(Int64, String)] {
            log.note(RequestedHost(name), at: start.adding(milliseconds: milliseconds))
        }
        #expect(hosts.all == ["a.test", "d.test:8080", "f.test", ""])
    }
}

/// The hosts that a log names.
private final class LoggedHosts: Sendable {
    private let named = Mutex<[String]>([])

    var all: [String] { named.withLock { $0 } }
    var logger: Logger { Logger(label: "test") { _ in Handler(hosts: self) } }

    private struct Handler: LogHandler {
        let hosts: LoggedHosts
        var metadata = Logger.Metadata()
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            hosts.named.withLock { $0.append(event.metadata?["http.host"]?.description ?? "") }
        }
    }
}
