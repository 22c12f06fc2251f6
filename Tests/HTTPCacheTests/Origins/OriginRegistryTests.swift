import HTTPCacheSemantics
import Synchronization
import Testing

@testable import HTTPCache

/// The permits of an origin and the callers that wait for them, without an engine or a socket.
/// ``OriginPermitsTests`` shows in which order waiting clients come.
@Suite(.timeLimit(.minutes(20))) struct OriginRegistryTests {
    private let origin: Origin
    private let other: Origin
    private let client = RequestClient("192.0.2.1")
    private let neighbor = RequestClient("192.0.2.2")

    init() throws {
        origin = Origin(try TargetURI("https://a.example/"))
        other = Origin(try TargetURI("https://b.example/"))
    }

    private static func options(limit: Int, waiting: Int = 100) -> EngineOptions {
        var options = EngineOptions()
        options.inFlightLimit = limit
        options.waitingLimit = waiting
        return options
    }

    private func make(limit: Int, waiting: Int = 100) -> (OriginRegistry, OriginCallers) {
        let registry = OriginRegistry(options: Self.options(limit: limit, waiting: waiting))
        return (registry, OriginCallers(registry, origin))
    }

    private func enterIfReachable(_ registry: OriginRegistry, _ client: RequestClient = .none) -> Bool {
        registry.enterIfFree(origin, client) {
            $0.verdict(for: AskedTarget(target: 1, request: 1), at: Timestamp(seconds: 0)) == .reachable
        }
    }

    // MARK: Places

    @Test func placesAreLimitedPerOrigin() {
        let (registry, callers) = make(limit: 2)
        callers.enter()
        #expect(registry.enterIfFree(origin, .none))
        #expect(!registry.enterIfFree(origin, .none) && !enterIfReachable(registry))
        #expect(registry.enterIfFree(other, .none))
        registry.leave(origin, .none)
        #expect(enterIfReachable(registry))
        #expect(!registry.enterIfFree(origin, .none))
    }

    /// The share holds for each of the three ways to a place.
    @Test(arguments: 0..<3) func singleClientLeavesAQuarterToOthers(way: Int) {
        let (registry, callers) = make(limit: 8, waiting: 0)
        func enter(_ client: RequestClient) -> Bool {
            switch way {
            case 0: callers[callers.enter(client)] == .entered
            case 1: registry.enterIfFree(origin, client)
            default: enterIfReachable(registry, client)
            }
        }
        #expect((0..<30).count { _ in enter(client) } == 6)
        #expect(enter(neighbor))
        #expect((0..<30).count { _ in enter(client) } == 0)
        #expect((0..<30).count { _ in enter(.none) } == 1)
    }

    @Test func waiterIsHandedThePlaceThatIsLeft() {
        let (registry, callers) = make(limit: 1)
        let first = callers.enter()
        let second = callers.enter()
        #expect(callers[second] == .waits)
        registry.leave(origin, .none)
        #expect(!registry.enterIfFree(origin, .none), "a newcomer cannot take it in between")
        #expect(callers[second] == .entered)
        callers.leave(second)
        #expect(registry.enterIfFree(origin, .none))
        #expect(callers[first] == .entered)
    }

    @Test(arguments: [0, 1, 5]) func requestBeyondWaitingLimitIsRejected(waiting: Int) {
        let (registry, callers) = make(limit: 2, waiting: waiting)
        for _ in 0..<2 + waiting { callers.enter() }
        #expect(callers.all(.entered).count == 2 && callers.all(.waits).count == waiting)
        #expect(callers[callers.enter()] == .rejected)
        #expect(OriginCallers(registry, other).enter() == 0)
        callers.leave(0)
        #expect(callers.all(.waits).count == max(0, waiting - 1))
        // The room of the one that came in is free again.
        #expect(callers[callers.enter()] == (waiting == 0 ? .entered : .waits))
    }

    @Test func overloadSaysThatTooManyWait() async throws {
        let registry = make(limit: 1, waiting: 0).0
        try await registry.enter(origin, .none)
        let error = await #expect(throws: OriginRegistry.Overload.self) { try await registry.enter(origin, .none) }
        guard case .full? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func singleClientLeavesRoomToWait() {
        let (_, callers) = make(limit: 1, waiting: 8)
        callers.enter()
        for _ in 0..<29 { callers.enter(client) }
        #expect(callers.all(.waits).count == 6 && callers.all(.rejected).count == 23)
        #expect(callers[callers.enter(neighbor)] == .waits)
        #expect(callers[callers.enter(neighbor)] == .waits)
        #expect(callers[callers.enter(neighbor)] == .rejected)
    }

    @Test func waitingClientsTakeTurns() {
        let (_, callers) = make(limit: 1)
        var holder = callers.enter()
        for _ in 0..<3 { callers.enter(client) }
        for _ in 0..<2 { callers.enter(neighbor) }
        var order: [Int] = []
        for _ in 0..<5 {
            let before = Set(callers.all(.entered))
            callers.leave(holder)
            holder = callers.all(.entered).first { !before.contains($0) } ?? holder
            order.append(holder)
        }
        #expect(order == [1, 4, 2, 5, 3])
    }

    @Test func cancelledWaiterGivesItsTurnToTheNext() {
        let (registry, callers) = make(limit: 1)
        callers.enter()
        let waiters = (0..<3).map { _ in callers.enter() }
        callers.cancel(waiters[0])
        #expect(waiters.map { callers[$0] } == [.cancelled, .waits, .waits])
        callers.leave(0)
        #expect(waiters.map { callers[$0] } == [.cancelled, .entered, .waits])
        // One that has its place already keeps it.
        callers.cancel(waiters[1])
        #expect(callers[waiters[1]] == .entered && !registry.enterIfFree(origin, .none))
    }

    @Test func cancelledCallerDoesNotEnter() async {
        let registry = make(limit: 1).0
        let origin = origin
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await registry.enter(origin, .none)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(registry.enterIfFree(origin, .none))
    }

    @Test func raisedLimitAdmitsWaiters() {
        let (registry, callers) = make(limit: 1)
        for _ in 0..<5 { callers.enter() }
        registry.reconfigure(Self.options(limit: 3))
        #expect(callers.all(.entered) == [0, 1, 2])
        #expect(callers.all(.waits) == [3, 4])
    }

    @Test func loweredLimitIsReachedAsRequestsEnd() {
        let (registry, callers) = make(limit: 3)
        for _ in 0..<4 { callers.enter() }
        registry.reconfigure(Self.options(limit: 1))
        callers.leave(0)
        callers.leave(1)
        #expect(callers[3] == .waits)
        callers.leave(2)
        #expect(callers[3] == .entered)
    }

    @Test func loweredWaitingLimitRejectsNewcomersOnly() {
        let (registry, callers) = make(limit: 1)
        for _ in 0..<4 { callers.enter() }
        registry.reconfigure(Self.options(limit: 1, waiting: 1))
        #expect(callers[callers.enter()] == .rejected)
        #expect(callers.all(.waits) == [1, 2, 3])
    }

    @Test func closingRejectsWaitersAndLaterCallers() async {
        let (registry, callers) = make(limit: 2)
        for _ in 0..<4 { callers.enter() }
        await registry.close()
        #expect(callers.all(.entered) == [0, 1] && callers.all(.cancelled) == [2, 3])
        #expect(callers[callers.enter()] == .cancelled)
        #expect(!registry.enterIfFree(other, .none) && !enterIfReachable(registry))
        // Those that have a place may still give it back.
        callers.leave(0)
        callers.leave(1)
    }

    // MARK: Bodies without a reader

    @Test func waitingRequestEndsUnreadBodiesOfItsOrigin() {
        let (registry, callers) = make(limit: 1)
        let ended = Mutex<[String]>([])
        for name in ["one", "two"] {
            #expect(registry.addUnread(origin) { ended.withLock { $0.append(name) } } != nil)
        }
        #expect(registry.addUnread(other) { ended.withLock { $0.append("other") } } != nil)
        callers.enter()
        #expect(ended.withLock { $0 } == [], "a place was free")
        callers.enter()
        callers.enter()
        registry.endUnread(origin)
        #expect(ended.withLock { $0.sorted() } == ["one", "two"], "each once")
    }

    @Test func rejectedRequestEndsNoUnreadBody() {
        let (registry, callers) = make(limit: 1, waiting: 0)
        let isEnded = Tally()
        #expect(registry.addUnread(origin) { isEnded.add() } != nil)
        callers.enter()
        #expect(!registry.enterIfFree(origin, .none))
        #expect(callers[callers.enter()] == .rejected)
        #expect(isEnded.count == 0)
    }

    @Test func bodyIsNotAddedWhileRequestWaits() {
        let (registry, callers) = make(limit: 1)
        callers.enter()
        let waiter = callers.enter()
        #expect(registry.addUnread(origin) {} == nil)
        #expect(registry.addUnread(other) {} != nil)
        callers.cancel(waiter)
        #expect(registry.addUnread(origin) {} != nil)
    }

    @Test func bodyThatIsReadAgainIsNotEnded() throws {
        let (registry, _) = make(limit: 1)
        let ended = Tally()
        let numbers = try (0..<3).map { _ in
            try #require(registry.addUnread(origin) { ended.add() })
        }
        #expect(Set(numbers).count == 3)
        registry.removeUnread(numbers[1], origin)
        registry.removeUnread(numbers[1], origin)
        registry.removeUnread(numbers[2], other)
        registry.endUnread(origin)
        #expect(ended.count == 2)
        registry.removeUnread(numbers[0], origin)
    }

    /// The function that ends a body may call the registry.
    @Test func bodyEndsOutsideTheLock() {
        let (registry, callers) = make(limit: 1)
        let origin = origin
        callers.enter()
        #expect(registry.addUnread(origin) { registry.leave(origin, .none) } != nil)
        #expect(callers[callers.enter()] == .entered)
    }

    // MARK: Thirty callers at once

    @Test(arguments: [1, 3, 30]) func thirtyCallersAreNeverMoreThanTheLimit(limit: Int) async throws {
        let registry = make(limit: limit).0
        let origin = origin
        let inside = Tally()
        let most = try await withThrowingTaskGroup { group in
            for number in 0..<30 {
                let client = RequestClient("client \(number % 4)")
                group.addTask {
                    try await registry.enter(origin, client)
                    let count = inside.add() + 1
                    for _ in 0..<20 { await Task.yield() }
                    inside.add(-1)
                    registry.leave(origin, client)
                    return count
                }
            }
            return try await group.reduce(0) { max($0, $1) }
        }
        #expect(most <= limit && most > 0)
        #expect((0..<limit).count { _ in registry.enterIfFree(origin, .none) } == limit, "every place came back")
    }

    /// Half of them give up at some moment: before, while or after they are handed their places.
    @Test func noPermitIsLostIfCallersGiveUp() async {
        for _ in 0..<50 {
            let registry = make(limit: 2).0
            let origin = origin
            await withDiscardingTaskGroup { group in
                for number in 0..<30 {
                    let task = Task {
                        guard (try? await registry.enter(origin, .none)) != nil else { return }
                        await Task.yield()
                        registry.leave(origin, .none)
                    }
                    group.addTask {
                        if number % 2 == 0 { task.cancel() }
                        await task.value
                    }
                }
            }
            #expect(registry.enterIfFree(origin, .none) && registry.enterIfFree(origin, .none))
        }
    }
}
