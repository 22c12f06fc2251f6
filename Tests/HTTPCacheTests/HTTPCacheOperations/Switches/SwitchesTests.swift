import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import Synchronization
import Testing

/// Modes of origins and routes, and drains, that an operator sets for a time.
@Suite(.timeLimit(.minutes(20))) struct SwitchesTests {
    let store = KeptSettings()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    /// The switches that were applied last.
    let applied = Applied()

    final class Applied: Sendable {
        let last = Mutex(Switches())
        var subjects: [Switch.Subject] { last.withLock { $0.all.map(\.subject) } }
    }

    private static let origin = Switch.Subject.origin(url: "https://a.example")
    private static let route = Switch.Subject.route(name: "api")
    private static let server = Switch.Subject.server(name: "10.0.0.7:443", origin: "https://a.example")

    private func makeKeeper(sleeper own: ManualDurationClock? = nil) -> SwitchKeeper {
        SwitchKeeper(
            store: store,
            clock: clock,
            sleeper: own ?? sleeper,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { [applied] switches in applied.last.withLock { $0 = switches } }
    }

    private func one(_ subject: Switch.Subject, _ mode: OfflineMode? = .offline, for seconds: Int64) -> Switch {
        Switch(
            subject,
            mode: mode,
            until: clock.now().adding(.seconds(seconds)),
            since: clock.now(),
            reason: "test",
            client: "uid 1"
        )
    }

    /// Moves both clocks. The keeper reads the wall clock at least every 30 s.
    private func advance(by seconds: Int64) async {
        await sleeper.sleepers(atLeast: 1)
        clock.advance(by: .seconds(seconds))
        sleeper.advance(by: .seconds(min(seconds, 30)))
    }

    // MARK: The table

    @Test func tableHasOneSwitchForEachSubjectUpToItsLimit() {
        var switches = Switches()
        for number in 0..<Switches.limit {
            let isSet = switches.set(one(.route(name: "\(number)"), for: 60))
            #expect(isSet)
        }
        let isBeyond = switches.set(one(Self.origin, for: 60))
        #expect(!isBeyond && switches.all.count == Switches.limit)
        let isReplaced = switches.set(one(.route(name: "3"), .preferStored, for: 90))
        #expect(isReplaced && switches.all.count == Switches.limit)
        #expect(switches.of(.route(name: "3"))?.mode == .preferStored)
        let ended = [switches.end(.route(name: "4")), switches.end(.route(name: "4"))]
        #expect(ended.map { $0?.reason } == ["test", nil])
        let hasRoom = switches.set(one(Self.origin, for: 60))
        #expect(hasRoom)
    }

    @Test func switchesExpireAtTheirEnds() {
        var switches = Switches()
        for (subject, seconds) in [(Self.origin, 10), (Self.route, 20), (Self.server, 20)] as [(Switch.Subject, Int64)]
        {
            _ = switches.set(one(subject, for: seconds))
        }
        let start = clock.now()
        for (seconds, ended, left) in [(9, 0, 3), (10, 1, 2), (19, 0, 2), (20, 2, 0)] as [(Int64, Int, Int)] {
            let over = switches.expire(at: start.adding(.seconds(seconds)))
            #expect(over.count == ended && switches.all.count == left, "\(seconds)")
            #expect(switches.nextEnd == (left == 0 ? nil : start.adding(.seconds(seconds < 10 ? 10 : 20))))
        }
        #expect(switches.isEmpty && switches.lastEnd == nil)
    }

    @Test func drainsAreGroupedByOrigin() {
        var switches = Switches()
        for name in ["1", "2"] {
            _ = switches.set(one(.server(name: name, origin: "https://a.example"), nil, for: 60))
        }
        _ = switches.set(one(.server(name: "1", origin: "https://b.example"), nil, for: 60))
        _ = switches.set(one(Self.route, for: 60))
        #expect(switches.drainedServers == ["https://a.example": ["1", "2"], "https://b.example": ["1"]])
        #expect(switches.modes.count == 1 && switches.drains.count == 3)
    }

    // MARK: The keeper

    @Test func eachSwitchEndsByItself() async throws {
        let keeper = makeKeeper()
        try await keeper.set(one(Self.origin, for: 10))
        await sleeper.sleepers(atLeast: 1)
        try await keeper.set(one(Self.server, nil, for: 20))
        #expect(applied.subjects == [Self.origin, Self.server])
        while sleeper.deadlines != [.init(.seconds(10))], !Task.isCancelled { await Task.yield() }
        await advance(by: 10)
        while applied.subjects != [Self.server], !Task.isCancelled { await Task.yield() }
        await advance(by: 10)
        while !applied.subjects.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(keeper.switches.isEmpty)
        while store.kept(Switches.self) != nil, !Task.isCancelled { await Task.yield() }
    }

    /// Mutant: `switches-end-with-the-process`.
    @Test func switchesOutlastTheProcess() async throws {
        let first = makeKeeper(sleeper: ManualDurationClock())
        try await first.set(one(Self.origin, for: 10))
        try await first.set(one(Self.route, .preferStored, for: 60))
        clock.advance(by: .seconds(10))
        applied.last.withLock { $0 = Switches() }
        let second = makeKeeper()
        await second.restore()
        #expect(applied.subjects == [Self.route] && second.switches.of(Self.route)?.mode == .preferStored)
        #expect(second.switches.of(Self.route)?.client == "uid 1")
        #expect(store.kept(Switches.self)?.value == second.switches)
    }

    @Test func switchIsEndedByHand() async throws {
        let keeper = makeKeeper()
        try await keeper.set(one(Self.origin, for: 60))
        let ended = try await keeper.end(Self.origin, by: "uid 2")
        let again = try await keeper.end(Self.origin, by: "uid 2")
        #expect(ended && !again && applied.subjects.isEmpty && store.kept(Switches.self) == nil)
    }

    @Test func switchThatCannotBeKeptIsNotInForce() async throws {
        let keeper = makeKeeper()
        store.fails.withLock { $0 = true }
        await #expect(throws: KeptSettings.Failure.self) { try await keeper.set(one(Self.origin, for: 60)) }
        #expect(keeper.switches.isEmpty && applied.subjects.isEmpty)
        // A file that cannot be read keeps no gateway from starting.
        await keeper.restore()
        store.fails.withLock { $0 = false }
        try await keeper.set(one(Self.origin, for: 60))
        store.fails.withLock { $0 = true }
        // It would come back with a restart.
        await #expect(throws: KeptSettings.Failure.self) { _ = try await keeper.end(Self.origin, by: "uid 1") }
        #expect(applied.subjects == [Self.origin])
    }

    @Test func tooManySwitchesAreRefused() async throws {
        let keeper = makeKeeper()
        for number in 0..<Switches.limit { try await keeper.set(one(.route(name: "\(number)"), for: 60)) }
        await #expect(throws: SwitchKeeper.Full.self) { try await keeper.set(one(Self.origin, for: 60)) }
        #expect(keeper.switches.all.count == Switches.limit)
    }
}
