import HTTPCacheSemantics
import HTTPWire
import Logging
import TestSupport
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct UnknownHostLogTests {
    private let log = CapturedLog()

    /// Mutant: `every-unknown-host-is-logged`.
    @Test func logsAHostAtMostOnceAMinute() {
        let hosts = UnknownHostLog(log.logger(.notice))
        let start = Timestamp(seconds: 1000)
        for (milliseconds, name) in [
            (0, "a.test"), (1, "b.test"), (59_999, "c.test"), (60_000, "d.test:8080"), (60_001, "e.test"),
            // The clock was set back.
            (10_000, "f.test"), (70_000, "not a host"),
        ] as [(Int64, String)] {
            hosts.note(RequestedHost(name), at: start.adding(milliseconds: milliseconds))
        }
        #expect(log.events.map { $0.metadata["http.host"] ?? "" } == ["a.test", "d.test:8080", "f.test", ""])
    }
}
