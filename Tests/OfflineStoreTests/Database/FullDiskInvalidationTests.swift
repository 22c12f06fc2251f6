import CSQLite
import FaultWorkload
import FleetTesting
import FleetTier
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreMemory

#if os(Linux)
    import Glibc

    /// A full disk keeps no invalidation from being in force (RFC 9111 §4.4), and neither a start
    /// nor an end from working.
    @Suite(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct FullDiskInvalidationTests {
        let folder: TemporaryFolder
        let clock = ManualClock()
        private static let names = ["key", "target", "prefix/1", "tag", "removed", "other"]
        private static let principal = StoreKey.Partition.principal("ada")

        init() throws { folder = try TemporaryFolder() }

        /// Another program that reads: the log cannot begin anew, so each write needs space.
        private final class Reader {
            private var connection: OpaquePointer?

            init(_ path: String) throws {
                let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil)
                guard code == SQLITE_OK,
                    sqlite3_exec(connection, "BEGIN; SELECT count(*) FROM garbage", nil, nil, nil) == SQLITE_OK
                else { throw TestFailure("the database cannot be read") }
            }

            func close() {
                sqlite3_close(connection)
                connection = nil
            }

            deinit { close() }
        }

        private func open(_ disk: SmallDisk) async throws -> CacheManager {
            try await openStore(disk.path + "/store", clock: clock)
        }

        private func fill(_ store: CacheManager) async throws {
            for name in Self.names {
                try await store.store(draft(try cacheKey("/\(name)"), at: clock.now(), tags: [name]), name)
            }
            try await store.store(draft(try cacheKey("/other", partition: Self.principal), at: clock.now()), "hers")
        }

        private func causes(_ name: String, _ store: CacheManager) async throws -> [InvalidationCause?] {
            try await store.responses.lookup(try cacheKey("/\(name)")).map(\.head.invalidation)
        }

        /// In-flight fetches the disk, and invalidates other keys until the disk takes no more of
        /// them.
        private func exhaust(_ disk: SmallDisk, _ store: CacheManager) async throws {
            disk.fill()
            let state = try store.core.database().state
            for index in 0..<5000 where state.unwritten.isEmpty {
                let key = try cacheKey("/none-\(index)")
                // In a fleet it throws the disk's error.
                _ = try? await store.responses.invalidate(.key(key), .mark(.unspecified), at: clock.now())
            }
            try #require(!state.unwritten.isEmpty, "the disk still takes invalidations")
        }

        private func invalidateEach(_ store: CacheManager) async throws {
            let (responses, now) = (store.responses, clock.now())
            let before = responses.invalidationSequence
            try await responses.invalidate(.key(try cacheKey("/key")), .mark(.unspecified), at: now)
            let target = try TargetURI("https://api.example/target")
            try await responses.invalidate(.target(target), .mark(.unsafeMethod), at: now)
            let prefix = try TargetPrefix("https://api.example/prefix/")
            try await responses.invalidate(.prefix(prefix), .mark(.unspecified), at: now)
            try await responses.invalidate(.tag("tag"), .mark(.unsafeMethod), at: now)
            try await responses.invalidate(.principal("ada"), .remove, at: now)
            let last = try await responses.invalidate(.tag("removed"), .remove, at: now)
            #expect(last > before && responses.invalidationSequence == last)
        }

        private func expectInvalidated(_ store: CacheManager, _ comment: Comment) async throws {
            #expect(try await causes("key", store) == [.unspecified], comment)
            #expect(try await causes("target", store) == [.unsafeMethod], comment)
            #expect(try await causes("prefix/1", store) == [.unspecified], comment)
            #expect(try await causes("tag", store) == [.unsafeMethod], comment)
            #expect(try await causes("removed", store) == [], comment)
            let hers = try await store.responses.lookup(try cacheKey("/other", partition: Self.principal))
            #expect(hers.isEmpty, comment)
        }

        /// In force at once, also for what is in memory; written when there is room; still in force
        /// when the store is opened again.
        @Test func invalidationsOnAFullDiskAreInForceAndWrittenLater() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            try await fill(store)
            for name in Self.names { #expect(try await causes(name, store) == [nil]) }
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)
            try await invalidateEach(store)
            try await expectInvalidated(store, "while the disk is full")
            #expect(try await causes("other", store) == [nil])

            // A response that was requested before the invalidation is not stored past it, and one
            // that was requested afterwards is.
            let state = try store.core.database().state
            let late = try cacheKey("/late")
            let early = store.responses.invalidationSequence
            try await store.responses.invalidate(.key(late), .mark(.unspecified), at: clock.now())
            reader.close()
            disk.free()
            let fencingNumber = store.responses.invalidationSequence
            #expect(try await put(late, fencingNumber: early, store) == false)
            #expect(state.unwritten.isEmpty, "the first transaction writes them")
            #expect(try await put(late, fencingNumber: fencingNumber, store) == true)
            try await expectInvalidated(store, "once they are written")
            #expect(try await causes("late", store) == [nil])
            try await store.close()

            let again = try await open(disk)
            try await expectInvalidated(again, "after the store was opened again")
            #expect(try await causes("other", again) == [nil])
            #expect(try await causes("late", again) == [nil])
            try await again.close()
        }

        /// A log-out promises that nothing is left on the disk.
        @Test func removalOfAPrincipalFailsWhileItIsInMemoryAlone() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            try await fill(store)
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)
            #expect(await code { try await store.removeResponses(of: "ada") } == .full)
            let hers = try cacheKey("/other", partition: Self.principal)
            #expect(try await store.responses.lookup(hers).isEmpty)
            reader.close()
            disk.free()
            try await store.removeResponses(of: "ada")
            try await store.close()
            let again = try await open(disk)
            #expect(try await again.responses.lookup(hers).isEmpty)
            #expect(try await again.text(of: try cacheKey("/other")) == "other")
            try await again.close()
        }

        /// Those of other nodes hold too. They count as applied once they are written.
        ///
        /// Mutants: `full-disk-loses-purges-of-other-nodes`, `held-purges-of-others-are-published`,
        /// `held-purges-are-held-again`.
        @Test func purgesOfOtherNodesOnAFullDiskAreInForceAndWrittenLater() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            let log = store.invalidationLog
            _ = try await log.join("shop", at: clock.now())
            // A response that is newer than an own purge, which the log returns.
            try await store.responses.invalidate(.tag("other"), .remove, at: clock.now())
            let own = try #require(try await log.unpublished(limit: 1).first)
            try await fill(store)
            for name in Self.names { #expect(try await causes(name, store) == [nil]) }
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)

            let others: [(InvalidationScope, InvalidationEffect)] = [
                (.target(try TargetURI("http://gw.example/key")), .mark(.unspecified)),
                (.target(try TargetURI("https://api.example/target")), .mark(.unsafeMethod)),
                (.prefix(try TargetPrefix("https://api.example/prefix/")), .mark(.unspecified)),
                (.tag("tag"), .mark(.unsafeMethod)), (.principal("ada"), .remove), (.tag("removed"), .remove),
            ]
            let key = try cacheKey("/key")
            var steps = others.enumerated().map { number, purge in
                let (scope, effect) = purge
                var purge = FleetInvalidation(id: .random(), scope: scope, effect: effect, issuedAt: clock.now())
                // The place where this node's routes lead.
                if number == 0 { purge.localScopes = [.key(key)] }
                return LogStep.apply(purge, LogPosition(epoch: 1, number: UInt64(number + 2)))
            }
            steps.append(.apply(own, LogPosition(epoch: 1, number: 8)))
            let cursor = LogCursor(position: LogPosition(epoch: 1, number: 8), epochs: [1: 8])
            let before = log.current
            for attempt in 1...3 {
                let error = await #expect(throws: StoreError.self) {
                    try await log.append(steps, through: cursor, at: clock.now())
                }
                #expect(error?.isOfDisk == true)
                try await expectInvalidated(store, "while the disk is full, attempt \(attempt)")
                #expect(try await causes("other", store) == [nil])
                #expect(log.current.number == before.number + 7, "a purge that is read again is held already")
            }

            reader.close()
            disk.free()
            #expect(try await log.append(steps, through: cursor, at: clock.now()) == 6)
            #expect(try store.core.database().state.unwritten.isEmpty)
            let waiting = try await log.unpublished(limit: 10_000).map(\.scope)
            #expect(others.allSatisfy { !waiting.contains($0.0) }, "they are published by their own nodes")
            try await expectInvalidated(store, "once they are written")
            try await store.close()
            let again = try await open(disk)
            try await expectInvalidated(again, "after the store was opened again")
            #expect(try await causes("other", again) == [nil])
            #expect(try await again.invalidationLog.join("shop", at: clock.now()).cursor == cursor)
            try await again.close()
        }

        /// A store that cannot join a fleet's log journals nothing, but other nodes must not miss
        /// its purges.
        ///
        /// Mutant: `full-disk-forgets-purges-before-joining`.
        @Test func purgesBeforeAStoreCanJoinReachOtherNodesAsAMarkOfEverything() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            let log = store.invalidationLog
            try await fill(store)
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)
            await #expect(throws: (any Error).self) { try await log.join("shop", at: clock.now()) }
            _ = try? await store.responses.invalidate(.tag("tag"), .mark(.unspecified), at: clock.now())
            reader.close()
            disk.free()
            // Written before the store joins, so it is not journaled.
            try await store.responses.invalidate(.tag("other"), .mark(.unspecified), at: clock.now())
            #expect(try await log.join("shop", at: clock.now()).unpublished == 1)
            #expect(try await log.unpublished(limit: 10).map(\.scope) == [.all])
            #expect(try await causes("key", store) == [nil], "this store's responses are not marked")
            // The log knows the store, so nothing is missing.
            #expect(try await log.join("shop", at: clock.now()).unpublished == 1)
            try await store.close()
        }

        /// A purge that is only in its memory may be lost with it.
        ///
        /// Mutant: `full-disk-counts-purges-as-applied`.
        @Test func nodeOnAFullDiskDoesNotCountAsOneThatAppliedAPurge() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            let time = Mutex(EngineTime(milliseconds: clock.now().milliseconds))
            let engine = InMemoryLogEngine(clock: ContinuousClock()) { time.withLock { $0 } }
            let other = JournaledStore()
            let purging = try node("gw-0", other, engine)
            let full = try node("gw-1", store.invalidationLog, engine)
            for node in [purging, full] {
                try await node.connect()
                while try await node.read(wait: .zero) > 0 {}
                try await node.confirm()
                try await node.publish()
            }
            // By then the log knows every node.
            time.withLock { $0 = $0.adding(.seconds(60)) }
            for node in [purging, full] { try await node.confirm() }
            try await fill(store)
            #expect(try await causes("tag", store) == [nil])
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)

            _ = try await other.invalidate(.tag("tag"), .mark(.unspecified), at: clock.now())
            try await purging.publish()
            await #expect(throws: StoreError.self) { try await full.read(wait: .zero) }
            #expect(try await causes("tag", store) == [.unspecified])
            try? await full.confirm()
            let early = await purging.checkReach(.everywhere, within: .seconds(600))
            #expect(early.level == .replicated && early.nodes?.waiting.map(\.node) == ["gw-1"], "\(early)")
            #expect(early.nodes?.applied == 1 && early.nodes?.behind == 1)

            reader.close()
            disk.free()
            try await full.read(wait: .zero)
            #expect(try await causes("tag", store) == [.unspecified])
            // A check right after another one does not read the log again.
            var late = early
            while late.level != .everywhere {
                for node in [full, purging] { try await node.confirm() }
                late = await purging.checkReach(.everywhere, within: .seconds(600))
            }
            #expect(late.nodes == .init(applied: 2, waiting: []))
            try await store.close()
        }

        private func node(
            _ name: String,
            _ log: any InvalidationLog,
            _ engine: InMemoryLogEngine
        ) throws -> InvalidationSharing {
            let namespace = try #require(FleetNamespace("shop"))
            let keys = try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32)))
            return InvalidationSharing(
                log: log,
                engine: engine.makeLog(),
                sealer: LogSealer(keys: keys, namespace: namespace),
                settings: .init(
                    namespace: namespace,
                    node: try #require(NodeName(name)),
                    timeout: .seconds(600)
                ),
                wall: clock,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        private func put(_ key: StoreKey, fencingNumber: InvalidationSequence, _ store: CacheManager) async throws
            -> Bool
        {
            let writer = try await store.responses.beginWrite(draft(key, at: clock.now()), fencingNumber: fencingNumber)
            try await writer?.append(ByteBuffer(string: "late"))
            return try await writer?.finish() != nil
        }

        /// If the process ends before they are written, nothing is trusted any more.
        @Test func invalidationsThatWereNeverWrittenLeaveNothingFresh() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            try await fill(store)
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)
            try await invalidateEach(store)
            let copy = folder.path + "/copy"
            try withWriterStopped(disk.path + "/store/0001.sqlite") { try copyFolder(disk.path + "/store", to: copy) }
            reader.close()
            try await store.close()
            let again = try await openStore(copy, clock: clock)
            for name in Self.names {
                let causes = try await causes(name, again)
                #expect(causes.allSatisfy { $0 != nil }, "\(name): \(causes)")
            }
            try await again.close()
        }

        @Test func closingOnAFullDiskIsNoFailure() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            try await fill(store)
            let reader = try Reader(disk.path + "/store/0001.sqlite")
            try await exhaust(disk, store)
            for name in Self.names { _ = try await causes(name, store) }
            reader.close()
            disk.fill()
            try await store.close()
            disk.free()
            let again = try await open(disk)
            #expect(try await again.text(of: try cacheKey("/other")) == "other")
            try await again.close()
        }

        /// After a proper close, after a crash, and after a crash that lost the log's index.
        @Test func storeOnAFullDiskIsOpenedForReading() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/store"
            let (killed, unindexed) = (disk.path + "/killed", disk.path + "/unindexed")
            let store = try await open(disk)
            try await fill(store)
            try withWriterStopped(path + "/0001.sqlite") {
                for copy in [killed, unindexed] { try copyFolder(path, to: copy) }
                try writeFile(killed + "/0001.sqlite-shm", readFile(path + "/0001.sqlite-shm"))
            }
            try await store.close()
            disk.fill()
            for copy in [path, killed, unindexed] {
                let opened = try await openStore(copy, clock: clock)
                #expect(try await opened.text(of: try cacheKey("/other")) == "other", "\(copy)")
                let body = await code { _ = try await openStore(copy, clock: clock) }
                #expect(body == .inUse, "\(copy)")
                try await invalidateEach(opened)
                try await expectInvalidated(opened, "\(copy)")
                try await opened.close()
            }
            disk.free()
            let writing = try await open(disk)
            #expect(!writing.isReadOnly)
            try await writing.setObject(1, forKey: "n")
            try await writing.close()
        }
    }
#endif
