import FleetTesting
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import TestSupport
import Testing

@testable import FleetTier

/// A node that comes back to a long log on a slow server.
@Suite(.timeLimit(.minutes(20))) struct CatchingUpTests {
    private static let entries = 860

    /// A fleet in memory, in which a node has written many purges.
    private struct World {
        let engine: InMemoryLogEngine
        let link: InMemoryFleetLog
        let first: InvalidationSharing
        let store = JournaledStore()

        init() throws {
            engine = InMemoryLogEngine(clock: ContinuousClock()) {
                EngineTime(milliseconds: SystemWallClock().now().milliseconds)
            }
            link = engine.makeLog()
            first = try CatchingUpTests.sharing(0, link, store)
        }

        func write(_ count: Int) async throws {
            for number in 0..<count {
                _ = try await store.invalidate(.tag("\(number)"), .mark(.unspecified), at: SystemWallClock().now())
            }
            try await first.publish()
        }
    }

    private static func sharing(
        _ number: Int,
        _ log: any FleetLog,
        _ store: JournaledStore,
        purges: PurgeView? = nil,
        uptime: @escaping @Sendable () -> Duration = { .zero }
    ) throws -> InvalidationSharing {
        let namespace = try #require(FleetNamespace("shop"))
        var settings = InvalidationSharing.Settings(
            namespace: namespace,
            node: try #require(NodeName("gw-\(number)"))
        )
        settings.lease = .seconds(3600)
        return InvalidationSharing(
            log: store,
            engine: log,
            sealer: LogSealer(
                keys: try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32))),
                namespace: namespace
            ),
            settings: settings,
            purges: purges,
            uptime: uptime,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// A node that has followed the log before, restarted after other nodes purged.
    private func restarted(
        _ world: World,
        entryTime: Duration,
        uptime: @escaping @Sendable () -> Duration = { .zero }
    ) async throws -> (sharing: InvalidationSharing, log: SlowLog, purges: PurgeView) {
        try await world.first.connect()
        try await world.first.read(wait: .zero)
        let store = JournaledStore()
        let before = try Self.sharing(1, world.engine.makeLog(), store)
        try await before.connect()
        try await before.read(wait: .zero)
        try await before.confirm()
        try await world.write(Self.entries)
        let (log, purges) = (SlowLog(world.engine.makeLog(), entryTime: entryTime), PurgeView())
        return (try Self.sharing(1, log, store, purges: purges, uptime: uptime), log, purges)
    }

    /// Connects and catches up until it succeeds, as a running node does.
    ///
    /// - Returns: the number of failed attempts.
    private func attempts(_ sharing: InvalidationSharing, most: Int = 40) async throws -> Int {
        for attempt in 0..<most {
            do {
                try await sharing.connect()
                try await sharing.catchUp()
                return attempt
            } catch {
                await sharing.disconnect(because: error)
            }
        }
        Issue.record("the node never catches up")
        return most
    }

    /// A whole page never arrives within the limit of a call, and at 60 ms not even one entry does.
    /// No connection is given up for it.
    ///
    /// Mutants: `catching-up-with-whole-pages`, `catching-up-within-the-limit-of-a-call`.
    @Test(arguments: [1, 10, 60, 300, 900])
    func catchesUpAlthoughEachPageTakesLongerThanACall(_ milliseconds: Int) async throws {
        let (sharing, log, purges) = try await restarted(World(), entryTime: .milliseconds(milliseconds))
        #expect(try await attempts(sharing) == 0)
        #expect(sharing.status.state == .following && purges.isFollowing)
        #expect(sharing.status.counts.applied == Self.entries && sharing.status.behind == nil)
        // Pages are no smaller than they must be.
        let smallest = try #require(log.pages.map(\.count).min())
        #expect((smallest == LogBatch.mostEntries) == (milliseconds == 1), "\(smallest)")
    }

    /// The connection is lost again and again. Each whole page counts.
    ///
    /// Mutants: `catching-up-begins-again`, `retained-log-of-another-epoch-continues`.
    @Test func anAttemptContinuesWhereTheLastOneEnded() async throws {
        let (sharing, log, purges) = try await restarted(World(), entryTime: .milliseconds(10))
        var failures = 0
        while failures < 200, sharing.status.state != .following {
            log.cut(afterPages: 1)
            do {
                try await sharing.connect()
                try await sharing.catchUp()
            } catch {
                failures += 1
                await sharing.disconnect(because: error)
            }
        }
        #expect(sharing.status.state == .following && purges.isFollowing)
        // No page is read twice.
        let whole = log.pages.filter { $0.isWhole }
        let pairs = zip(whole, whole.dropFirst())
        #expect(pairs.filter { $1.position < $0.position }.count == 1, "the retained log is read once")
        #expect(failures > 10, "\(failures)")
    }

    /// A log that was lost is another log.
    @Test func aLogOfAnotherEpochIsReadFromItsBeginning() async throws {
        let world = try World()
        let (sharing, log, purges) = try await restarted(world, entryTime: .milliseconds(10))
        log.cut(afterPages: 30)
        await #expect(throws: FleetLogError.unreachable) {
            try await sharing.connect()
            try await sharing.catchUp()
        }
        await sharing.disconnect(because: FleetLogError.unreachable)
        let isHalfRead = await sharing.retained != nil
        #expect(isHalfRead)
        world.engine.restart(keepingData: true)
        #expect(try await attempts(sharing) <= 2)
        #expect(purges.isFollowing)
        let first = try #require(try await world.engine.makeLog().bounds(within: .seconds(600))?.first.previous)
        #expect(log.pages.filter { $0.isWhole && $0.position == first }.count == 2)
    }

    /// Operators see how far it is, also at other nodes.
    @Test func aNodeTellsHowFarItIs() async throws {
        let world = try World()
        let time = EngineTimer()
        let (sharing, log, _) = try await restarted(
            world,
            entryTime: .milliseconds(10),
            uptime: {
                time.pass(1000)
                return .milliseconds(time.now.milliseconds)
            }
        )
        log.cut(afterPages: 4)
        await #expect(throws: FleetLogError.unreachable) {
            try await sharing.connect()
            try await sharing.catchUp()
        }
        let read = log.pages.filter(\.isWhole).map(\.count).reduce(0, +)
        let behind = try #require(sharing.status.behind)
        #expect((1..<Self.entries).contains(read) && behind == Int64(Self.entries - read))
        #expect(sharing.status.condition.detail.contains("\(behind) entries of the log left to read"))
        #expect(await sharing.fleet().behind == behind)
        let rows = try await world.link.nodes(within: .seconds(600))
        let identity = await sharing.identity
        let row = try #require(rows.first { $0.report.identity == identity })
        #expect(row.report.applied > LogPosition(epoch: row.report.applied.epoch, number: 1))
        #expect(row.report.applied.number <= UInt64(read) + 1, "only what was applied")
    }

    @Test func pagesShrinkToOneEntryAndGrowAgain() {
        var size = PageSize()
        var counts: [Int] = []
        for _ in 0..<4 {
            size.timedOut()
            counts.append(size.count)
        }
        #expect(counts == [64, 8, 1, 1] && size.reductions == 3)
        size.arrived(0)
        #expect(size.count == 1, "an empty page says nothing")
        for _ in 0..<12 { size.arrived(size.count) }
        #expect(size.count == LogBatch.mostEntries)
        size.arrived(3)
        #expect(size.count == LogBatch.mostEntries)
    }
}
