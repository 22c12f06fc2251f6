import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics
import Logging
import Synchronization
import TestSupport
import Testing

@testable import HoldfastControl

/// The coordinator that takes purges, on a store that does what the test says.
@Suite(.timeLimit(.minutes(20))) struct PurgeCoordinatorTests {
    private let store = ScriptedStore()
    private let log = CapturedLog()
    private let coordinator: PurgeCoordinator

    init() {
        coordinator = PurgeCoordinator(store, since: 0, clock: StandingClock(), logger: log.logger())
    }

    /// The names of the metadata of all events with a message.
    private func members(of message: String) -> Set<String> {
        Set(log.events.filter { $0.message == message }.flatMap(\.metadata.keys))
    }

    private func count(_ level: Logger.Level, _ message: String) -> Int {
        log.events.count { $0.level == level && $0.message == message }
    }

    private func purge(_ tag: String, dryRun: Bool = false) -> PurgeRequest {
        var selection = PurgeRequest.Selection()
        selection.tags = [tag]
        return PurgeRequest(selection, dryRun: dryRun)
    }

    private func key(_ text: String, _ content: [UInt8] = [1]) throws -> IdempotencyKey {
        try #require(try IdempotencyKey([text], of: content))
    }

    /// The problem's status and code.
    private func problem(_ body: () async throws -> PurgeResult) async -> String {
        do {
            _ = try await body()
            return "none"
        } catch let problem as ControlProblem {
            return "\(problem.status) \(problem.code)"
        } catch let wait as PurgeCoordinator.Wait {
            return "\(wait.problem.status) \(wait.problem.code), retry after \(wait.seconds)"
        } catch {
            return "\(error)"
        }
    }

    private func history(after sequence: Int64 = 0) async -> [Int64] {
        await coordinator.purges(after: sequence, atMost: 1000).purges.map(\.sequence)
    }

    @Test func logHasOnlyMembersWithAValue() async throws {
        _ = try await coordinator.purge(purge("a"), by: "c")
        #expect(members(of: "Purged").isSuperset(of: ["control.client", "purge.sequence"]))
        #expect(members(of: "Purged").isDisjoint(with: ["purge.covers", "purge.reason"]))
        var other = purge("b")
        other.reason = "deploy"
        _ = try await coordinator.purge(other, by: "c")
        #expect(members(of: "Purged").contains("purge.reason"))
    }

    /// Mutant: `purge-in-memory-is-called-durable`.
    @Test func resultSaysWhetherThePurgeIsOnDisk() async throws {
        let written = try await coordinator.purge(purge("a"), by: "c")
        #expect(written.durable == true && !members(of: "Purged").contains("purge.durable"))
        store.fillDisk()
        let held = try await coordinator.purge(purge("b"), by: "c")
        #expect(held.durable == false && members(of: "Purged").contains("purge.durable"))
        let counted = try await coordinator.purge(purge("c", dryRun: true), by: "c")
        #expect(counted.durable == nil)
    }

    /// Leads from the host `gw` to an origin.
    private struct Places: OriginURLFinding {
        func originURLs(of url: TargetURI) -> [OriginURL] {
            guard url.host == "gw", let target = try? TargetURI("https://o.example/v1\(url.requestTarget)") else {
                return []
            }
            return [OriginURL(target)]
        }

        func originPrefixes(of prefix: TargetURI) -> [OriginURL] { originURLs(of: prefix) }
    }

    /// Mutant: `dry-run-hides-the-origins-urls`.
    @Test func dryRunListsWhatTheGatewayStoresForClientsURLs() async throws {
        let coordinator = PurgeCoordinator(
            store,
            since: 0,
            clock: StandingClock(),
            logger: log.logger(),
            places: Places()
        )
        var selection = PurgeRequest.Selection()
        (selection.urls, selection.prefixes) = (["http://gw/a", "https://o.example/c"], ["http://gw/b/"])
        let counted = try await coordinator.purge(PurgeRequest(selection, dryRun: true), by: "c")
        let expected = PurgeResult.StoredUnder(
            urls: ["https://o.example/v1/a"],
            prefixes: ["https://o.example/v1/b/"]
        )
        #expect(counted.storedUnder == expected)
        let purged = try await coordinator.purge(PurgeRequest(selection), by: "c")
        let tagged = try await coordinator.purge(purge("t", dryRun: true), by: "c")
        #expect(purged.storedUnder == nil && tagged.storedUnder == nil)
        // Found but empty is not the same as not looked for.
        (selection.urls, selection.prefixes) = (["https://o.example/c"], [])
        let unchanged = try await coordinator.purge(PurgeRequest(selection, dryRun: true), by: "c")
        #expect(unchanged.storedUnder == PurgeResult.StoredUnder(urls: [], prefixes: []))
    }

    @Test func purgesArePerformedOneAtATimeAndReadInOrder() async throws {
        let coordinator = coordinator
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                let purge = purge("\(number)")
                group.addTask {
                    let sequence = try #require(try await coordinator.purge(purge, by: "c").sequence)
                    // A client of the feed that has read up to here misses nothing later.
                    let known = await coordinator.purges(after: 0, atMost: 1000).purges.map(\.sequence)
                    #expect(Array(known.prefix(Int(sequence))) == Array(1...sequence))
                }
            }
            try await group.waitForAll()
        }
        #expect(store.most == 1)
        #expect(await history() == Array(1...30))
    }

    @Test(arguments: [false, true]) func furtherOnesAreRejectedWhenTooManyWait(dryRun: Bool) async throws {
        store.close()
        let places = dryRun ? 2 : 1
        let tasks = (0..<places + PurgeCoordinator.waitingLimit).map { number in
            let (coordinator, purge) = (coordinator, purge("\(number)", dryRun: dryRun))
            return Task { try await coordinator.purge(purge, by: "c") }
        }
        while (dryRun ? coordinator.waiting.counts : coordinator.waiting.purges) < PurgeCoordinator.waitingLimit {
            await Task.yield()
        }
        let rejected = await problem { try await coordinator.purge(purge("x", dryRun: dryRun), key: key("k"), by: "c") }
        #expect(rejected == "503 busy, retry after 1")
        // A rejected one takes nothing of the rate.
        for _ in 0..<500 {
            let again = await problem { try await coordinator.purge(purge("x", dryRun: dryRun), by: "c") }
            #expect(again == rejected)
        }
        store.open()
        for task in tasks { _ = try await task.value }
        // The key of a rejected request may be used again.
        _ = try await coordinator.purge(purge("x", dryRun: dryRun), key: key("k"), by: "c")
        #expect(await history().count == (dryRun ? 0 : 2 + PurgeCoordinator.waitingLimit))
    }

    @Test func purgeDoesNotWaitForDryRuns() async throws {
        store.closeCounts()
        let tasks = (0..<5).map { number in
            let (coordinator, purge) = (coordinator, purge("\(number)", dryRun: true))
            return Task { try await coordinator.purge(purge, by: "c") }
        }
        while coordinator.waiting.counts < 3, !Task.isCancelled { await Task.yield() }
        #expect(try await coordinator.purge(purge("t"), by: "c").sequence == 1)
        store.open()
        for task in tasks { _ = try await task.value }
    }

    @Test func repeatedRequestIsNoFurtherPurge() async throws {
        let first = try await coordinator.purge(purge("t"), key: key("k"), by: "c")
        for number in 0..<499 { _ = try await coordinator.purge(purge("\(number)"), by: "c") }
        let limited = await problem { try await coordinator.purge(purge("t"), key: key("another"), by: "c") }
        #expect(limited == "429 too-many-purges, retry after 1")
        // A repetition costs nothing, so the limit does not concern it.
        #expect(try await coordinator.purge(purge("t"), key: key("k"), by: "c") == first)
        let other = await problem { try await coordinator.purge(purge("u"), key: key("k", [2]), by: "c") }
        #expect(other == "422 idempotency-key-reused")
        #expect(await history().count == 500)
    }

    @Test func requestWithAKeyThatIsUnderWayIsRejected() async throws {
        store.close()
        let (coordinator, first, key) = (coordinator, purge("t"), try key("k"))
        let task = Task { try await coordinator.purge(first, key: key, by: "c") }
        while store.running == 0, !Task.isCancelled { await Task.yield() }
        let second = await problem { try await coordinator.purge(purge("t"), key: key, by: "c") }
        #expect(second == "409 idempotency-key-in-use")
        store.open()
        #expect(try await task.value == coordinator.purge(purge("t"), key: key, by: "c"))
    }

    @Test func invalidPurgeIsRejectedWithoutATurn() async throws {
        store.close()
        let empty = PurgeRequest(PurgeRequest.Selection())
        #expect(await problem { try await coordinator.purge(empty, by: "c") } == "400 invalid-request")
        #expect(store.running == 0)
    }

    @Test func failedPurgeIsInTheHistoryWithItsProblem() async throws {
        _ = try await coordinator.purge(purge("a"), by: "c")
        store.fail(.usable)
        #expect(await problem { try await coordinator.purge(purge("b"), key: key("k"), by: "d") } == "503 store-failed")
        store.fail(.readOnly)
        let readOnly = await #expect(throws: ControlProblem.self) { try await coordinator.purge(purge("c"), by: "e") }
        #expect(readOnly?.code == "store-read-only" && readOnly?.detail.contains("may be in force") == true)
        #expect(readOnly?.detail.contains("Repeat") == false)
        store.open()
        #expect(try await coordinator.purge(purge("b"), key: key("k"), by: "d").sequence == 2)
        let page = await coordinator.purges(after: 1, atMost: 10)
        #expect(page.purges.map(\.sequence) == [2] && page.purges.allSatisfy { $0.problem == nil })
        #expect(page.failed.map(\.problem) == ["store-failed", "store-read-only"])
        #expect(page.failed.map(\.by) == ["d", "e"] && page.failed.map(\.select.tags) == [["b"], ["c"]])
        #expect(count(.error, "Purge failed") == 2)
    }

    @Test func purgesAreCountedByTheirResult() async throws {
        func counts() async -> [String: Int64] {
            let series = await coordinator.tally.family.series.filter { $0.value != .integer(0) }
            return Dictionary(
                uniqueKeysWithValues: series.map { series in
                    guard case .integer(let count) = series.value else { return ("", 0) }
                    return (series.labels.all.map(\.value).joined(separator: " "), count)
                }
            )
        }
        #expect(await counts().isEmpty)
        var both = PurgeRequest.Selection()
        (both.tags, both.hosts) = (["t"], ["a.example"])
        var all = PurgeRequest.Selection()
        all.all = true
        for _ in 0..<3 { _ = try await coordinator.purge(purge("t"), key: key("k"), by: "c") }
        _ = try await coordinator.purge(PurgeRequest(both, action: .remove), by: "c")
        _ = try await coordinator.purge(purge("t", dryRun: true), by: "c")
        _ = await problem { try await coordinator.purge(PurgeRequest(PurgeRequest.Selection()), by: "c") }
        store.fail(.usable)
        _ = await problem { try await coordinator.purge(PurgeRequest(all), by: "c") }
        #expect(
            await counts() == [
                "tag expire ok": 1, "several remove ok": 1, "several expire rejected": 1, "all expire failed": 1,
            ]
        )
        #expect(await coordinator.tally.family.series.count == 36)
    }

    @Test func failedDryRunSaysThatNothingWasChanged() async throws {
        store.fail(.usable)
        let failed = await #expect(throws: ControlProblem.self) {
            try await coordinator.purge(purge("a", dryRun: true), by: "c")
        }
        #expect(failed?.detail.contains("Nothing was changed") == true)
        #expect(failed?.detail.contains("in force") == false)
        #expect(await coordinator.purges(after: 0, atMost: 10).failed.isEmpty)
    }

    @Test func dryRunEndsWithItsClientAndAPurgeGoesOn() async throws {
        store.close()
        let (coordinator, dryRun, real) = (coordinator, purge("a", dryRun: true), purge("b"))
        let counting = Task { try await coordinator.purge(dryRun, by: "c") }
        let purging = Task { try await coordinator.purge(real, by: "c") }
        while store.running < 2, !Task.isCancelled { await Task.yield() }
        counting.cancel()
        purging.cancel()
        await #expect(throws: CancellationError.self) { try await counting.value }
        store.open()
        #expect(try await purging.value.sequence == 1)
        #expect(await history() == [1])
    }

    @Test func endRejectsWhatWaitsAndSaysThatAPurgeIsNotDone() async throws {
        store.close()
        let coordinator = coordinator
        let tasks = (0..<3).map { number in
            let purge = purge("\(number)")
            return Task { try await coordinator.purge(purge, by: "c") }
        }
        while coordinator.waiting.purges < 2, !Task.isCancelled { await Task.yield() }
        await coordinator.end(within: .zero)
        var details: [String] = []
        for task in tasks {
            let problem = await #expect(throws: ControlProblem.self) { try await task.value }
            #expect(problem?.code == "ending")
            details.append(problem?.detail ?? "")
        }
        #expect(details.filter { $0.contains("Nothing was purged") }.count == 2)
        #expect(details.filter { $0.contains("may be in force") }.count == 1)
        #expect(count(.warning, "Shutting down before a purge is complete; part of it may be in force") == 1)
        #expect(await problem { try await coordinator.purge(purge("x"), by: "c") } == "503 ending")
        store.open()
    }

    /// The store may be asked how it is when the time for the end is over.
    @Test func failedPurgeThatIsAbandonedIsRecordedOnce() async throws {
        store.fail(.usable)
        store.closeCondition()
        let (coordinator, purge) = (coordinator, purge("a"))
        let task = Task { try await coordinator.purge(purge, by: "c") }
        while store.asking == 0, !Task.isCancelled { await Task.yield() }
        await coordinator.end(within: .zero)
        let problem = await #expect(throws: ControlProblem.self) { try await task.value }
        #expect(problem?.code == "ending")
        store.open()
        while store.asking > 0, !Task.isCancelled { await Task.yield() }
        let counts = await coordinator.tally.family.series.filter { $0.value != .integer(0) }
        #expect(counts.map(\.value) == [.integer(1)])
        #expect(await coordinator.purges(after: 0, atMost: 10).failed.map(\.problem) == ["ending"])
        #expect(count(.error, "Purge failed") == 0)
    }

    @Test func purgeThatGetsItsTurnAtTheEndChangesNothing() async throws {
        let coordinator = coordinator
        _ = try await coordinator.purge(purge("before"), by: "c")
        await coordinator.end(within: .zero)
        for number in 0..<30 {
            let purge = purge("\(number)")
            // It has waited, and the one before it has left.
            let problem = await #expect(throws: ControlProblem.self) { try await coordinator.perform(purge, by: "c") }
            #expect(problem?.status == 503 && problem?.code == "ending")
            #expect(
                problem?.detail
                    == "The gateway is shutting down. Nothing was purged. Repeat the purge after the restart."
            )
        }
        #expect(store.invalidationSequence.number == 1)
        let page = await coordinator.purges(after: 0, atMost: 100)
        #expect(page.purges.map(\.sequence) == [1] && page.failed.isEmpty)
    }

    @Test func endWaitsForAPurgeThatIsDoneInTime() async throws {
        store.close()
        let (coordinator, store, purge) = (coordinator, store, purge("a"))
        let task = Task { try await coordinator.purge(purge, by: "c") }
        while store.running == 0, !Task.isCancelled { await Task.yield() }
        // The clock of this end never moves.
        let end = Task { await coordinator.end(within: .seconds(1), NeverClock()) }
        store.open()
        #expect(try await task.value.sequence == 1)
        await end.value
        #expect(count(.warning, "Shutting down before a purge is complete; part of it may be in force") == 0)
    }

    @Test func keyStandsOnceAndIsNeitherEmptyNorLong() throws {
        #expect(try IdempotencyKey([], of: []) == nil)
        for fields in [[""], ["a", "a"], [String(repeating: "a", count: 256)]] {
            #expect(throws: ControlProblem.self) { try IdempotencyKey(fields, of: []) }
        }
        #expect(try IdempotencyKey([String(repeating: "a", count: 255)], of: []) != nil)
    }
}

/// A store whose operations wait while it is closed.
private final class ScriptedStore: StoreOperations {
    private struct State {
        var sequence: Int64 = 0
        var isClosed = false
        var areCountsClosed = false
        var isConditionClosed = false
        var asking = 0
        var failure: StoreCondition?
        var isDiskFull = false
        var running = 0
        var most = 0
    }

    private struct Failure: Error {}

    private let state = Mutex(State())

    /// How many operations wait in it.
    var running: Int { state.withLock { $0.running } }
    /// The most that invalidated at a time.
    var most: Int { state.withLock { $0.most } }

    func close() { state.withLock { $0.isClosed = true } }
    /// Lets dry runs wait, which examine more than purges do.
    func closeCounts() { state.withLock { $0.areCountsClosed = true } }
    /// Lets those wait that ask for the store's condition.
    func closeCondition() { state.withLock { $0.isConditionClosed = true } }
    /// How many ask for it.
    var asking: Int { state.withLock { $0.asking } }
    /// Lets every operation continue.
    func open() {
        state.withLock { state in
            (state.isClosed, state.areCountsClosed, state.failure) = (false, false, nil)
            state.isConditionClosed = false
        }
    }
    func fillDisk() { state.withLock { $0.isDiskFull = true } }
    func fail(_ condition: StoreCondition) { state.withLock { $0.failure = condition } }

    var invalidationSequence: InvalidationSequence { InvalidationSequence(state.withLock { $0.sequence }) }

    /// Fails like one whose caller has left. The purge is in effect by then, so it still succeeds.
    func recorded(in scopes: [InvalidationScope], examining limit: Int) async throws -> [String: Int] {
        throw CancellationError()
    }

    func count(_ scopes: [InvalidationScope], examining limit: Int) async throws -> ScopeCount {
        let isDryRun = limit == Self.dryRunExamination
        if isDryRun { try await pass { $0.isClosed || $0.areCountsClosed } }
        if isDryRun, state.withLock({ $0.failure != nil }) { throw Failure() }
        return ScopeCount(responses: 1)
    }

    func invalidate(_ scopes: [InvalidationScope], keepingForOffline: Bool) async throws -> ScopeInvalidation {
        // Suspended as by a disk, so that operations that may run together do.
        await Task.yield()
        // An invalidation cannot be cancelled.
        while state.withLock({ $0.isClosed }) { await enter { await Task.yield() } }  // is not canceled
        await enter { await Task.yield() }
        return try state.withLock { state in
            if state.failure != nil { throw Failure() }
            state.sequence += Int64(scopes.count)
            return ScopeInvalidation(
                sequence: InvalidationSequence(state.sequence),
                isDurable: !state.isDiskFull
            )
        }
    }

    func storeCondition() async -> StoreCondition {
        state.withLock { $0.asking += 1 }
        while state.withLock({ $0.isConditionClosed }) { await Task.yield() }  // is not canceled
        return state.withLock { state in
            state.asking -= 1
            return state.failure ?? .usable
        }
    }

    func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage {
        throw Failure()
    }

    func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int { throw Failure() }

    func pinUse() async throws -> PinUse { throw Failure() }

    private func enter(_ body: () async -> Void) async {
        state.withLock { state in
            state.running += 1
            state.most = max(state.most, state.running)
        }
        await body()
        state.withLock { $0.running -= 1 }
    }

    private func pass(_ isClosed: (State) -> Bool) async throws {
        state.withLock { $0.running += 1 }
        defer { state.withLock { $0.running -= 1 } }
        while state.withLock({ isClosed($0) }) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

private struct StandingClock: WallClock {
    func now() -> Timestamp { Timestamp(milliseconds: 0) }
}

/// A clock on which nothing ever ends.
private struct NeverClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
        try Task.checkCancellation()
    }
}
