import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Synchronization
import Testing

/// Targets whose hosts are not the names of their origins: the state of origins grows with the
/// configuration, not with the hosts that clients choose.
@Suite(.timeLimit(.minutes(20))) struct TargetOriginTests {
    /// Leads every host to one origin, until a test changes it.
    private final class OneOrigin: TargetOrigins {
        let current = Mutex(Origin(scheme: "http", host: "10.0.0.7", port: 80))

        func origin(of target: TargetURI) -> Origin { current.withLock { $0 } }
    }

    /// Clients choose the hosts of `example.test`.
    private struct ChosenOrigins: TargetOrigins {
        func origin(of target: TargetURI) -> Origin { Origin(target) }

        func isChosenByClients(_ target: TargetURI) -> Bool { target.host.hasSuffix(".example.test") }
    }

    @Test func hostsOfClientsShareOneOrigin() async throws {
        let fixture = EngineFixture(targetOrigins: OneOrigin())
        for number in 0..<30 {
            let url = "http://h\(number).example/a"
            fixture.transport.script(url, .failure(.connect))
            #expect(await fixture.failure(url) == .originUnreachable)
        }
        #expect(fixture.engine.origins.conditions.map(\.origin) == ["http://10.0.0.7"])
        #expect(fixture.engine.originNumbers(with: []).map(\.label) == ["http://10.0.0.7"])
    }

    @Test func hostsWithoutRoutesAreTheirOwnOrigins() async throws {
        let fixture = EngineFixture()
        for url in ["http://one.example/", "http://two.example/"] {
            fixture.transport.script(url, .failure(.connect))
            #expect(await fixture.failure(url) == .originUnreachable)
        }
        let names = fixture.engine.origins.conditions.map(\.origin)
        #expect(Set(names) == ["http://one.example", "http://two.example"])
    }

    /// A client may have mistyped it. Requests are treated as in an outage.
    @Test func chosenNameThatNeverLedToAnOriginIsUnresolved() async throws {
        let fixture = EngineFixture(targetOrigins: ChosenOrigins())
        let url = "http://mistyped.example.test/"
        fixture.transport.script(url, .failure(.nameResolution))
        #expect(await fixture.failure(url) == .originUnreachable)
        let condition = try #require(fixture.engine.origins.conditions.first)
        #expect(condition.reachability == .unresolved && condition.cause?.reason == "name-resolution")
        let origin = Origin(try TargetURI(url))
        #expect(fixture.engine.origins.isOpen(origin))
        #expect(fixture.engine.originNumbers(with: []).allSatisfy { $0.isUp })
    }

    /// Mutants: `any-failure-of-a-chosen-name-is-no-outage`, `names-of-routes-are-unknown`.
    @Test(arguments: [
        ("http://listed.example/", TransportError.Code.nameResolution), ("http://chosen.example.test/", .connect),
    ])
    func otherFailureIsAnOutage(_ url: String, _ code: TransportError.Code) async throws {
        let fixture = EngineFixture(targetOrigins: ChosenOrigins())
        fixture.transport.script(url, .failure(code))
        #expect(await fixture.failure(url) == .originUnreachable)
        #expect(fixture.engine.origins.conditions.map(\.reachability) == [.unreachable])
        #expect(fixture.engine.originNumbers(with: []).map(\.isUp) == [false])
    }

    /// So a failure of the whole name service is reported. Mutant:
    /// `names-that-led-to-an-origin-are-unknown`.
    @Test func chosenNameThatLedToAnOriginHasAnOutage() async throws {
        let fixture = EngineFixture(targetOrigins: ChosenOrigins())
        let (first, second) = ("http://chosen.example.test/1", "http://chosen.example.test/2")
        fixture.transport.script(first, .fresh("one"))
        fixture.transport.script(second, .failure(.nameResolution))
        #expect(try await fixture.get(first).text == "one")
        #expect(await fixture.failure(second) == .originUnreachable)
        #expect(fixture.engine.origins.conditions.map(\.reachability) == [.unreachable])
    }

    /// The origin may serve only the hosts of its sites. Mutant:
    /// `probe-names-an-origin-that-knows-no-name`.
    @Test func probeHasTheHostOfTheRequestThatFailed() async throws {
        let fixture = EngineFixture(targetOrigins: OneOrigin())
        for host in ["shop.example", "10.0.0.7"] {
            for path in ["/", "/robots.txt"] {
                let failure = ScriptedTransport.Reply.failure(.connectionClosed)
                fixture.transport.script("http://\(host)\(path)", method: .head, repeating: failure)
            }
        }
        for url in (0..<4).map({ "http://shop.example/\($0)" }) {
            fixture.transport.script(url, .failure(.connectionClosed))
            #expect(await fixture.failure(url) == .originUnreachable)
        }
        while !fixture.transport.requests.contains(where: { $0.method == .head }) {
            fixture.sleeper.advance(by: .seconds(1))
            await Task.yield()
        }
        let probe = try #require(fixture.transport.requests.first { $0.method == .head })
        #expect(probe.authority == "shop.example")
    }

    /// After a reload, each probe would ask the new origin. Mutant:
    /// `probe-of-another-origin-goes-on`.
    @Test func originWhoseHostLeadsElsewhereIsForgotten() async throws {
        let origins = OneOrigin()
        let fixture = EngineFixture(targetOrigins: origins)
        let url = "http://shop.example/a"
        fixture.transport.script(url, .failure(.connect), .fresh("new"))
        #expect(await fixture.failure(url) == .originUnreachable)
        origins.current.withLock { $0 = Origin(scheme: "http", host: "10.0.0.8", port: 80) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        while !fixture.engine.origins.conditions.isEmpty, fixture.transport.requests.count < 2, !Task.isCancelled {
            await Task.yield()
        }
        #expect(fixture.engine.origins.conditions.isEmpty)
        #expect(fixture.transport.requests.count == 1)
    }
}
