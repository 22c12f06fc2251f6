import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import Synchronization
import Testing

/// A mode that an operator sets for a time.
@Suite(.timeLimit(.minutes(20))) struct ModeSwitchTests {
    let store = KeptSettings()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()

    private func makeSwitch(_ fixture: EngineFixture, sleeper own: ManualDurationClock? = nil) -> ModeSwitch {
        ModeSwitch(
            engine: fixture.engine,
            store: store,
            clock: clock,
            sleeper: own ?? sleeper,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func offline(for seconds: Int64) -> TemporaryMode {
        TemporaryMode(
            .offline,
            until: clock.now().adding(.seconds(seconds)),
            since: clock.now(),
            reason: "test",
            client: "uid 1"
        )
    }

    /// Moves both clocks. The switch reads the wall clock at least every 30 s.
    private func advance(by seconds: Int64) async {
        await sleeper.sleepers(atLeast: 1)
        clock.advance(by: .seconds(seconds))
        sleeper.advance(by: .seconds(min(seconds, 30)))
    }

    @Test func modeIsInForceForTheNextRequestAndEndsByItself() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("1"))
        let modes = makeSwitch(fixture)
        try await modes.begin(offline(for: 20))
        await #expect(throws: ExchangeError.self) { try await fixture.get() }
        #expect(modes.state.value == .offline && modes.state.configured == .automatic)
        #expect(store.kept(OfflineMode.self) == modes.state.temporary)
        await advance(by: 19)
        await sleeper.sleepers(atLeast: 1)
        #expect(fixture.engine.mode == .offline)
        await advance(by: 1)
        while fixture.engine.mode == .offline, !Task.isCancelled { await Task.yield() }
        #expect(try await fixture.get().text == "1")
        #expect(modes.state == ModeState(configured: .automatic))
        while store.kept(OfflineMode.self) != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func wallClockThatIsSetForwardsEndsTheModeWithinHalfAMinute() async throws {
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        try await modes.begin(offline(for: 7200))
        await advance(by: 7200)
        while fixture.engine.mode == .offline, !Task.isCancelled { await Task.yield() }
        #expect(modes.state.temporary == nil)
    }

    @Test func modeOutlastsTheProcess() async throws {
        try await makeSwitch(EngineFixture(), sleeper: ManualDurationClock()).begin(offline(for: 60))
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        #expect(fixture.engine.mode == .automatic)
        await modes.restore()
        try #require(fixture.engine.mode == .offline && modes.state.temporary?.reason == "test")
        await advance(by: 60)
        while fixture.engine.mode == .offline, !Task.isCancelled { await Task.yield() }
    }

    @Test func modeThatEndedWhileNoProcessRanIsForgotten() async throws {
        try await makeSwitch(EngineFixture()).begin(offline(for: 60))
        clock.advance(by: .seconds(60))
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        await modes.restore()
        #expect(fixture.engine.mode == .automatic && store.kept(OfflineMode.self) == nil)
    }

    @Test func reloadDoesNotEndTheMode() async throws {
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        try await modes.begin(offline(for: 60))
        modes.configure(.online)
        #expect(fixture.engine.mode == .offline && modes.state.configured == .online)
        try await modes.end(by: "uid 1")
        #expect(fixture.engine.mode == .online && store.kept(OfflineMode.self) == nil)
        modes.configure(.preferStored)
        #expect(fixture.engine.mode == .preferStored)
    }

    @Test func secondModeTakesThePlaceOfTheFirst() async throws {
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        try await modes.begin(offline(for: 10))
        await sleeper.sleepers(atLeast: 1)
        var longer = offline(for: 25)
        longer.value = .preferStored
        try await modes.begin(longer)
        while sleeper.deadlines != [.init(.seconds(25))], !Task.isCancelled { await Task.yield() }
        // The end of the first one is none of the second one.
        clock.advance(by: .seconds(10))
        sleeper.advance(by: .seconds(10))
        #expect(modes.state.value == .preferStored && fixture.engine.mode == .preferStored)
        clock.advance(by: .seconds(15))
        sleeper.advance(by: .seconds(15))
        while fixture.engine.mode == .preferStored, !Task.isCancelled { await Task.yield() }
        #expect(fixture.engine.mode == .automatic)
    }

    @Test func modeThatCannotBeKeptIsNotInForce() async throws {
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        store.fails.withLock { $0 = true }
        await #expect(throws: KeptSettings.Failure.self) { try await modes.begin(offline(for: 60)) }
        #expect(fixture.engine.mode == .automatic && modes.state.temporary == nil)
        // A file that cannot be read keeps no gateway from starting.
        await modes.restore()
        #expect(fixture.engine.mode == .automatic)
        store.fails.withLock { $0 = false }
        try await modes.begin(offline(for: 60))
        store.fails.withLock { $0 = true }
        // It would come back with a restart.
        await #expect(throws: KeptSettings.Failure.self) { try await modes.end(by: "uid 1") }
        #expect(fixture.engine.mode == .offline)
    }

    @Test func switchesRaceWithRequestsAndReloads() async throws {
        let fixture = EngineFixture()
        let modes = makeSwitch(fixture)
        fixture.transport.script(EngineFixture.url, .fresh("1"))
        try await fixture.get()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                group.addTask {
                    if number.isMultiple(of: 2) {
                        try await modes.begin(offline(for: 60))
                    } else {
                        try await modes.end(by: "uid 1")
                    }
                }
                group.addTask { modes.configure(number.isMultiple(of: 3) ? .online : .automatic) }
                group.addTask { _ = try await fixture.get() }
            }
            try await group.waitForAll()
        }
        #expect(fixture.engine.mode == modes.state.value)
        #expect(store.kept(OfflineMode.self) == modes.state.temporary)
    }
}
