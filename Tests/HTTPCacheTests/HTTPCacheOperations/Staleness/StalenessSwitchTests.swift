import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import Synchronization
import Testing

/// An operator's extension, for a time, of how stale responses may be while their origin fails.
@Suite(.timeLimit(.minutes(20))) struct StalenessSwitchTests {
    let store = KeptSettings()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    private let url = EngineFixture.url

    private func makeSwitch(_ fixture: EngineFixture) -> StalenessSwitch {
        StalenessSwitch(
            engine: fixture.engine,
            store: store,
            clock: clock,
            sleeper: sleeper,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func extended(_ staleness: Int64, for seconds: Int64 = 60) -> TemporaryStaleness {
        TemporaryStaleness(
            StalenessExtension(seconds: staleness),
            until: clock.now().adding(.seconds(seconds)),
            since: clock.now(),
            client: "uid 1"
        )
    }

    /// An engine whose rules let responses be 10 s stale, without a breaker or a throttle.
    private func fixture(
        _ kind: CacheKind = .private,
        mode: OfflineMode = .automatic,
        limit: Int64 = 10
    ) -> EngineFixture {
        EngineFixture(kind: kind, mode: mode, rules: rules(limit)) { $0.failureThrottle = .zero }
    }

    private func rules(_ limit: Int64) -> TestRules {
        TestRules {
            $0.usesBreaker = false
            $0.overrides.maximumStalenessUnreachable = limit
            $0.overrides.maximumStalenessOffline = limit
        }
    }

    @Test func unreachableOriginIsReplacedUpToTheExtensionAndUntilItsEnd() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one", 1))
        fixture.transport.script(url, repeating: .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        #expect(await fixture.failure() == .staleForbidden)
        let staleness = makeSwitch(fixture)
        try await staleness.begin(extended(60))
        let served = try await fixture.get()
        #expect(served.text == "one" && served.response.outcome.detail == .unreachable)
        #expect(staleness.state.value.seconds == 60 && staleness.state.configured == .none)
        fixture.clock.advance(by: .seconds(40))
        #expect(await fixture.failure() == .staleForbidden)
        fixture.clock.advance(by: .seconds(-40))
        // It ends by itself.
        await sleeper.sleepers(atLeast: 1)
        clock.advance(by: .seconds(60))
        sleeper.advance(by: .seconds(30))
        while fixture.engine.staleness != .none, !Task.isCancelled { await Task.yield() }
        #expect(await fixture.failure() == .staleForbidden)
        while store.kept(StalenessExtension.self) != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func serverErrorIsReplaced() async throws {
        let fixture = EngineFixture { $0.failureThrottle = .zero }
        let bad = ScriptedTransport.Reply.status(.serviceUnavailable, "bad")
        fixture.transport.script(url, .fresh("good", 1), bad, bad, bad)
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fixture.get().text == "bad")
        let staleness = makeSwitch(fixture)
        try await staleness.begin(extended(60))
        let served = try await fixture.get()
        #expect(served.text == "good" && served.response.outcome.detail == .staleIfError)
        try await staleness.end(by: "uid 1")
        #expect(try await fixture.get().text == "bad")
    }

    @Test(arguments: ["must-revalidate", "no-cache", "proxy-revalidate", "s-maxage=1"])
    func directiveStaysBinding(_ directive: String) async throws {
        let fixture = fixture(.shared)
        let reply = ScriptedTransport.Reply.ok("one", fields: [.cacheControl: "max-age=1, \(directive)"])
        fixture.transport.script(url, reply, .failure(.connect), .status(.serviceUnavailable, "bad"))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(5))
        try await makeSwitch(fixture).begin(extended(3600))
        #expect(await fixture.failure() == .staleForbidden)
        #expect(try await fixture.get().text == "bad")
        fixture.engine.mode = .offline
        #expect(await fixture.failure() == .staleForbidden)
    }

    @Test func modeOfflineIsExtendedAndAReachableOriginIsAskedAsBefore() async throws {
        let fixture = fixture(mode: .preferStored)
        fixture.transport.script(url, .fresh("one", 1), .fresh("two", 1))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        try await makeSwitch(fixture).begin(extended(60))
        fixture.engine.mode = .offline
        #expect(try await fixture.get().text == "one")
        // The rule's limit sends it to the origin, which responds.
        fixture.engine.mode = .preferStored
        #expect(try await fixture.get().text == "two")
    }

    @Test func reloadKeepsItAndItsLimitsAreInForceAfterwards() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one", 1))
        fixture.transport.script(url, repeating: .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        let staleness = makeSwitch(fixture)
        try await staleness.begin(extended(60))
        var options = EngineOptions()
        options.hardTimeout = nil
        options.failureThrottle = .zero
        fixture.engine.reconfigure(options: options, rules: rules(5))
        #expect(try await fixture.get().text == "one")
        fixture.engine.reconfigure(options: options, rules: rules(40))
        try await staleness.end(by: "uid 1")
        // The limit of the second reload.
        #expect(try await fixture.get().text == "one")
        fixture.clock.advance(by: .seconds(20))
        #expect(await fixture.failure() == .staleForbidden)
    }

    @Test func outlastsTheProcessAndNotItsEnd() async throws {
        try await makeSwitch(EngineFixture()).begin(extended(60))
        let second = EngineFixture()
        let staleness = makeSwitch(second)
        #expect(second.engine.staleness == .none)
        let version = second.engine.settingsVersion
        await staleness.restore()
        #expect(second.engine.staleness.seconds == 60 && second.engine.settingsVersion > version)
        clock.advance(by: .seconds(60))
        let third = EngineFixture()
        await makeSwitch(third).restore()
        #expect(third.engine.staleness == .none && store.kept(StalenessExtension.self) == nil)
    }

    @Test func extensionThatCannotBeKeptIsNotInForce() async throws {
        let fixture = EngineFixture()
        let staleness = makeSwitch(fixture)
        store.fails.withLock { $0 = true }
        await #expect(throws: KeptSettings.Failure.self) { try await staleness.begin(extended(60)) }
        #expect(fixture.engine.staleness == .none && staleness.state.temporary == nil)
    }

    @Test func thirtyCallersSeeItAtOnce() async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("one", 1))
        fixture.transport.script(url, repeating: .failure(.connect))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(30))
        try await makeSwitch(fixture).begin(extended(60))
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.get().text } }
            for try await text in group { #expect(text == "one") }
        }
    }

    @Test func lengthsBeyondTheLimitsAreBroughtToThem() {
        #expect(StalenessExtension(seconds: -5) == .none)
        #expect(StalenessExtension(seconds: .max).seconds == StalenessExtension.longest)
    }
}
