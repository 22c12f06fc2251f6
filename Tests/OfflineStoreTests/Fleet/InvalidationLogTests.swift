import Foundation
import HTTPCache
import HTTPCacheSemantics
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles
@testable import StoreMemory

@Suite(.timeLimit(.minutes(20))) struct InvalidationLogTests {
    private static let patience = Duration.seconds(600)

    @Test func memoryKeepsTheContract() async {
        let contract = InvalidationLogContract(timeout: Self.patience) {
            let store = JournaledStore()
            return .init(store: store, log: store)
        }
        #expect(await contract.run() == [])
    }

    @Test func diskKeepsTheContract() async throws {
        let folder = try TemporaryFolder()
        let stores = Stores(folder.path)
        let contract = InvalidationLogContract(
            timeout: Self.patience,
            reopen: { _ in try await stores.reopen() },
            make: { try await stores.open() }
        )
        #expect(contract.rules.count > 14)
        #expect(await contract.run() == [])
        await stores.close()
    }

    /// A database that replaces a damaged one does not know what waited. It tells other
    /// nodes once to mark everything.
    @Test func databaseInPlaceOfADamagedOnePublishesOnePurgeOfEverything() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = try await openStore(folder.store, clock: clock)
        _ = try await store.invalidationLog.join("shop", at: clock.now())
        try await store.invalidateResponses(tagged: "waiting")
        let damage = SQLiteFailure(code: 11, message: "damaged by the test")
        let count = store.invalidationLog.additionCount
        store.core.setAside(try store.core.database(), because: damage)
        // Else a node would believe that nothing waits.
        #expect(store.invalidationLog.additionCount > count)
        await #expect(throws: InvalidationLogError.self) { try await store.invalidationLog.unpublished(limit: 10) }
        await #expect(throws: InvalidationLogError.self) {
            try await store.invalidationLog.append([], through: LogCursor(), at: clock.now())
        }
        // Before it has joined again: not journaled, but before the purge of everything.
        try await store.invalidateResponses(tagged: "between")
        let place = try await store.invalidationLog.join("shop", at: clock.now())
        #expect(place.unpublished == 1 && place.cursor == LogCursor())
        let waiting = try await store.invalidationLog.unpublished(limit: 10)
        #expect(waiting.map(\.scope) == [.all] && waiting.map(\.effect) == [.mark(.unspecified)])
        try await store.close()
    }

    /// It must not be ahead of what a power cut leaves, and knows all that has been synced.
    @Test func sidecarKnowsInvalidationsOfOthersOnceTheyAreSynced() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = try await openStore(folder.store, clock: clock)
        let (log, path) = (store.invalidationLog, store.core.folder.sidecarPath)
        _ = try await log.join("shop", at: clock.now())
        func purgeOfAnother(_ number: UInt64) async throws {
            let id = PurgeID.random()
            let purge = FleetInvalidation(id: id, scope: .all, effect: .mark(.unspecified), issuedAt: clock.now())
            let position = LogPosition(epoch: 1, number: number)
            let cursor = LogCursor(position: position, epochs: [1: number])
            try await log.append([.apply(purge, position)], through: cursor, at: clock.now())
        }
        let start = log.current.number
        try await purgeOfAnother(2)
        #expect(log.current.number == start + 1)
        #expect(try SequenceSidecar.read(path: path) == start)
        try await log.synchronize()
        #expect(try SequenceSidecar.read(path: path) == start + 1)
        // A durable invalidation of this node makes those before it durable, too.
        try await purgeOfAnother(3)
        try await store.invalidateResponses(tagged: "own")
        #expect(try SequenceSidecar.read(path: path) == start + 3)
        // A late sync of earlier ones takes nothing back.
        try await purgeOfAnother(4)
        try await log.synchronize()
        try await log.synchronize()
        #expect(try SequenceSidecar.read(path: path) == start + 4)
        try await store.close()
    }

    @Test func journalIsReadAsItIsOnDisk() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await store.fleetJournal() == nil)
        let log = store.invalidationLog
        let place = try await log.join("shop", at: clock.now())
        for tag in ["a", "b", "c"] { try await store.invalidateResponses(tagged: tag) }
        let ids = try await log.unpublished(limit: 10).map(\.id)
        let positions = [3, 2].map { LogPosition(epoch: 1, number: $0) }
        try await log.published([ids[0]: positions[0], ids[1]: positions[1]])
        let cursor = LogCursor(position: positions[0], epochs: [1: 3])
        try await log.append([.distrust], through: cursor, at: clock.now())
        try await log.settle(through: positions[1], at: clock.now(), forgetting: .distantPast)
        // By a process that only reads.
        let reader = try await CacheManager.openReadOnly(at: folder.store)
        let journal = try #require(try await reader.fleetJournal())
        #expect(journal.name == "shop" && journal.node == place.node && journal.cursor == cursor)
        #expect(journal.unpublished.map(\.invalidation.scope) == [.tag("c")])
        #expect(journal.unpublished.map(\.position) == [nil])
        #expect(journal.unsettled.map(\.position) == [positions[0]])
        #expect((journal.unpublishedCount, journal.unsettledCount, journal.settledCount) == (1, 1, 1))
        #expect(
            journal.settledAt == clock.now() && journal.lowWaterMark == journal.sequence && journal.lowWaterMark > 0
        )
        try await reader.close()
        try await store.close()
    }

    /// The system may drop what it could not write, and say nothing of it the next time.
    @Test func failedSyncOfALogIsNotMadeGoodByAnother() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/log"
        let log = LogSync(path: path)
        #expect(throws: SystemFailure.self) { try log.synchronize() }
        try Data([1]).write(to: URL(filePath: path))
        #expect(try !log.synchronize())
        log.recover()
        #expect(try log.synchronize())
    }

    @Test func purgesBeyondTheLimitBecomeOneOfEverything() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let store = try await openStore(folder.store, clock: clock)
        _ = try await store.invalidationLog.join("shop", at: clock.now())
        let tags = (0..<(WriteContext.waitingLimit + 512)).map { InvalidationScope.tag("\($0)") }
        _ = try await store.invalidate(tags, keepingForOffline: false)
        let waiting = try await store.invalidationLog.unpublished(limit: 20_000)
        #expect(waiting.first?.scope == .all && waiting.first?.effect == .mark(.unspecified))
        #expect(waiting.count <= 1000)
        #expect(waiting.last?.scope == tags.last)
        try await store.close()
    }
}

@Suite(.timeLimit(.minutes(20))) struct KnownInvalidationsTests {
    private func subject(_ number: Int64, tags: [Int64] = []) -> InvalidationSubject {
        InvalidationSubject(keyHash: number, targetHash: -number, tagHashes: tags)
    }

    @Test func eachScopeConcernsItsOwn() {
        let known = KnownInvalidations(last: 10)
        known.append([
            .init(number: 11, scope: .key, hash: 1), .init(number: 12, scope: .target, hash: -2),
            .init(number: 13, scope: .tag, hash: 3), .init(number: 14, scope: .object, hash: 4),
        ])
        for (number, last) in [(Int64(1), Int64(11)), (2, 12), (4, 14)] {
            #expect(known.concerns(subject(number), after: last - 1) && !known.concerns(subject(number), after: last))
        }
        #expect(
            known.concerns(subject(9, tags: [7, 3]), after: 12) && !known.concerns(subject(9, tags: [3]), after: 13)
        )
        #expect(!known.concerns(subject(9), after: 10) && known.concerns(subject(9), after: 9))
        known.append([.init(number: 15, scope: .all, hash: 0)])
        #expect(known.concerns(subject(9), after: 14) && !known.concerns(subject(9), after: 15))
    }

    @Test func prefixConcernsItsOriginOrWhoDoesNotKnowHis() {
        let known = KnownInvalidations(last: 0)
        known.append([.init(number: 1, scope: .prefix, hash: 5)])
        #expect(known.concerns(subject(9), after: 0, wide: WideHashes(origin: 5)))
        #expect(!known.concerns(subject(9), after: 0, wide: WideHashes(origin: 6)))
        #expect(known.concerns(subject(9), after: 0) && !known.concerns(subject(9), after: 1))
    }

    @Test func halfIsForgottenAndEverythingBeforeIsConcerned() {
        let known = KnownInvalidations(last: 0)
        let count = Int64(KnownInvalidations.capacity) + 1
        known.append((1...count).map { .init(number: $0, scope: .key, hash: $0) })
        #expect(known.concerns(subject(count), after: count - 1) && !known.concerns(subject(count), after: count))
        #expect(!known.concerns(subject(-1), after: count - 1))
        #expect(known.concerns(subject(-1), after: 1), "too long ago to know")
    }
}

/// The store of the rule that is tested now.
private actor Stores {
    private let folder: String
    private let clock = ManualClock()
    private var number = 0
    private var open: CacheManager?

    init(_ folder: String) { self.folder = folder }

    func open() async throws -> InvalidationLogContract.Pair {
        await close()
        number += 1
        return try await reopen()
    }

    func reopen() async throws -> InvalidationLogContract.Pair {
        await close()
        let store = try await openStore("\(folder)/\(number)", clock: clock)
        open = store
        return .init(store: store.responses, log: store.invalidationLog)
    }

    func close() async {
        try? await open?.close()
        open = nil
    }
}
