import HTTPCacheSemantics
import HoldfastTesting
import Synchronization
import Testing

@testable import HTTPCache

/// A target for which the origin closes the connection, tested over sockets. docs/decisions/0007
@Suite(.timeLimit(.minutes(20))) struct BreakerGatewayTests {
    /// The responses that clients got.
    private final class Seen: Sendable {
        struct Counts {
            var misses = 0
            var lostMisses = 0
            var stale = 0
            var offline = 0
        }
        let counts = Mutex(Counts())
    }

    private final class OriginState: Sendable {
        let isBack = Atomic(false)
    }

    /// An origin that closes the connection on targets below `/bad`, and responds to all others.
    private static let healthy = RawOrigin.Step.choose { request in
        if request.line.contains(" /bad") { return .hangUp }
        if request.line.contains(" /stale") { return .ok("stale", fields: "Cache-Control: max-age=0\r\n") }
        return .ok("fine", fields: "Cache-Control: max-age=60\r\n")
    }

    /// In each second of the cache's clock, 10 clients send 200 bad requests, beside misses by 15
    /// clients and stale responses for 5.
    @Test(arguments: [1, 3]) func failingTargetDoesNotAffectOtherTargets(badTargets: Int) async throws {
        try await RawOrigin.with(Array(repeating: Self.healthy, count: 5000)) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                for number in 0..<5 { _ = try await gateway.get("/stale/\(number)") }
                gateway.clock.advance(by: .seconds(10))
                let seen = Seen()
                try await withThrowingTaskGroup(of: Void.self) { clients in
                    for client in 0..<10 {
                        clients.addTask {
                            for number in 0..<40 {
                                _ = try? await gateway.get("/bad/\((client + number) % badTargets)")
                                gateway.clock.advance(by: .milliseconds(5))
                            }
                        }
                    }
                    for client in 0..<15 {
                        clients.addTask {
                            for number in 0..<20 {
                                let response = try await gateway.get("/fine/\(client)/\(number)")
                                seen.counts.withLock {
                                    $0.misses += 1
                                    if response.status != 200 { $0.lostMisses += 1 }
                                }
                            }
                        }
                    }
                    for client in 0..<5 {
                        clients.addTask {
                            for _ in 0..<20 {
                                let response = try await gateway.get("/stale/\(client)")
                                seen.counts.withLock {
                                    $0.stale += 1
                                    if response["Cache-Status"]?.contains("unreachable") == true { $0.offline += 1 }
                                }
                            }
                        }
                    }
                    try await clients.waitForAll()
                }
                let counts = seen.counts.withLock { $0 }
                #expect(counts.misses == 300 && counts.stale == 100)
                // However slow the machine is, an origin that responds to probes is never called
                // unreachable.
                #expect(counts.lostMisses == 0, "\(counts.lostMisses) of \(counts.misses) misses were refused")
                #expect(counts.offline == 0, "\(counts.offline) of \(counts.stale) stale responses were 'offline'")
                // Each target is rejected by itself: in two seconds there are few tries.
                let bad = origin.requests.count { $0.line.contains(" /bad") }
                #expect(bad <= 30 * badTargets, "the bad targets were asked for \(bad) times")
            }
        }
    }

    /// If a client's fields make the origin close the connection, the target is rejected for that
    /// client only.
    ///
    /// Mutant: `failing-targets-for-all`.
    @Test func clientThatBreaksOriginBlocksTargetForItselfOnly() async throws {
        let choosy = RawOrigin.Step.choose { request in
            request.text.contains("X-Bad") ? .hangUp : .ok("fine", fields: "Cache-Control: no-store\r\n")
        }
        try await RawOrigin.with(Array(repeating: choosy, count: 200)) { origin in
            try await RunningGateway.with(origin: origin.url, configure: RunningGateway.trustingClients) { gateway in
                _ = try await gateway.get("/other", fields: "X-Bad: 1\r\n")
                _ = try await gateway.get("/other")
                for _ in 0..<10 { _ = try await gateway.get("/", fields: "X-Bad: 1\r\n") }
                // A probe has none of the client's fields, and may come at any time.
                let isBad: (RawOrigin.Request) -> Bool = { $0.text.contains("X-Bad") }
                let before = origin.requests.count(where: isBad)
                let refused = try await gateway.get("/", fields: "X-Bad: 1\r\n")
                #expect(refused.status == 504)
                #expect(refused.text.contains("failed repeatedly"))
                #expect(origin.requests.count(where: isBad) == before)
                let fine = try await gateway.get("/")
                #expect(fine.status == 200)
            }
        }
    }

    /// An outage ends for misses about a second after the origin's return, not only when the next
    /// probe comes.
    @Test(.timeLimit(.minutes(20))) func missFindsReturnedOriginAfterASecond() async throws {
        let state = OriginState()
        try await RawOrigin.with(
            Array(
                repeating: .choose { _ in state.isBack.load(ordering: .relaxed) ? .ok("back") : .hangUp },
                count: 100
            )
        ) { origin in
            var options = EngineOptions.patient
            // Probes come too late for this test.
            options.breaker.initialBackOff = .seconds(3600)
            try await RunningGateway.with(origin: origin.url, options: options) { gateway in
                for number in 0..<3 {
                    let failed = try await gateway.get("/\(number)")
                    #expect(failed.status == 502)
                }
                // The probes that confirm it take their time.
                let name = Origin(try TargetURI(origin.url))
                while !gateway.engine.origins.isOpen(name) {
                    try await Task.sleep(for: .milliseconds(1))  // lets time pass
                }
                #expect(origin.requests.count == 5)
                let refused = try await gateway.get("/4")
                #expect(refused.status == 504)
                #expect(origin.requests.count == 5)
                state.isBack.store(true, ordering: .relaxed)
                gateway.clock.advance(by: .seconds(1))
                let found = try await gateway.get("/5")
                #expect(found.status == 200)
                let next = try await gateway.get("/6")
                #expect(next.status == 200)
            }
        }
    }
}
