import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import Synchronization
import Testing

@testable import SharedTier

/// How far a node says that its purges have come, with an engine in memory.
@Suite(.timeLimit(.minutes(20))) struct PurgeReachTests {
    private struct Node: Sendable {
        let store = InMemoryResponseStore()
        let link: InMemorySharedLog
        let sharing: InvalidationSharing

        init(
            _ number: Int,
            _ engine: InMemoryLogEngine,
            quorum: Int = 0,
            cutOff: CutOff = .serve,
            lease: Duration = .seconds(5)
        ) throws {
            link = engine.makeLog()
            let namespace = try #require(FleetNamespace("shop"))
            var settings = InvalidationSharing.Settings(
                namespace: namespace,
                node: try #require(NodeName("gw-\(number)")),
                quorum: quorum
            )
            settings.cutOff = cutOff
            settings.lease = lease
            sharing = InvalidationSharing(
                log: InMemoryInvalidationLog(store),
                engine: link,
                sealer: LogSealer(
                    keys: try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32))),
                    namespace: namespace
                ),
                settings: settings,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func follow() async throws {
            try await sharing.connect()
            while try await sharing.read(wait: .zero) > 0 {}
            try await sharing.publish()
            try await sharing.confirm()
        }

        /// Asks with longer and longer times, until the machine was fast enough for a whole look.
        func reach(_ level: PurgeLevel, _ isWhole: (PurgeReach) -> Bool) async -> PurgeReach {
            var time = Duration.milliseconds(30)
            while true {
                let reach = await sharing.reach(level, within: time)
                if isWhole(reach) { return reach }
                time *= 2
            }
        }

        func purge(_ tag: String = "a") async throws {
            _ = try await store.invalidate(.tag(tag), .mark(.unspecified), at: SystemWallClock().now())
        }
    }

    /// More than any of these calls takes: what ends a wait is an event.
    private static let long = Duration.seconds(600)

    private let time = EngineTimer()

    private func engine() -> InMemoryLogEngine {
        let time = time
        return InMemoryLogEngine(clock: ContinuousClock()) { time.now }
    }

    private func nodes(_ count: Int, _ engine: InMemoryLogEngine, quorum: Int = 0) async throws -> [Node] {
        let nodes = try (0..<count).map { try Node($0, engine, quorum: quorum) }
        for node in nodes { try await node.follow() }
        return nodes
    }

    // MARK: Queued

    @Test func aPurgeThatIsNotPublishedIsQueued() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge()
        for level in PurgeLevel.allCases {
            let reach = await node.sharing.reach(level, within: .zero)
            #expect(reach.level == .queued && reach.position == nil && reach.nodes == nil)
            #expect((reach.note?.contains("journal") == true) == (level > .queued))
        }
    }

    @Test func withoutAnEngineItIsQueuedWhenTheTimeIsOver() async throws {
        let engine = engine()
        let node = try Node(0, engine)
        node.link.cut()
        let run = Task { await node.sharing.run() }
        try await node.purge()
        let reach = await node.sharing.reach(.everywhere, within: .milliseconds(30))
        #expect(reach.level == .queued && reach.note != nil)
        run.cancel()
        await run.value
    }

    @Test func aCancelledWaitEndsAtOnce() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge()
        let wait = Task { await node.sharing.reach(.shared, within: Self.long) }
        wait.cancel()
        #expect(await wait.value.level == .queued)
        // It changed nothing.
        #expect(try await node.sharing.publish() == 1)
    }

    // MARK: Shared

    @Test func whatWaitsIsToldAsSoonAsItIsPublished() async throws {
        let node = try await nodes(1, engine())[0]
        for number in 0..<3 { try await node.purge("\(number)") }
        async let reach = node.sharing.reach(.shared, within: Self.long)
        try await node.sharing.publish()
        let end = try #require(try await node.link.bounds(within: Self.long)).last
        let reached = await reach
        #expect(reached == PurgeReach(level: .shared, position: "\(end)"))
    }

    @Test func whatCameBeforeTheCallCounts() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge("before")
        try await node.sharing.publish()
        #expect(await node.sharing.reach(.shared, within: .zero).level == .shared)
        try await node.purge("later")
        #expect(await node.sharing.reach(.shared, within: .zero).level == .queued)
    }

    // MARK: Replicated

    @Test func aReplicaThatIsMissingKeepsItShared() async throws {
        let engine = engine()
        let node = try await nodes(1, engine, quorum: 1)[0]
        try await node.purge()
        engine.setReplication(.held)
        try await node.sharing.publish()
        let missing = await node.reach(.replicated) { $0.replicas != nil }
        #expect(missing.level == .shared && missing.replicas == 0)
        #expect(missing.note == "0 of 1 replicas confirmed it.")
        async let wait = node.sharing.reach(.replicated, within: Self.long)
        engine.setReplication(.onDemand)
        let reached = await wait
        #expect(reached.level == .replicated && reached.replicas == 1 && reached.note == nil)
    }

    /// A confirmation says nothing of what came after it.
    @Test func aConfirmationDoesNotCountForALaterPurge() async throws {
        let engine = engine()
        let node = try await nodes(1, engine, quorum: 1)[0]
        try await node.purge("first")
        try await node.sharing.publish()
        #expect(await node.sharing.reach(.replicated, within: Self.long).level == .replicated)
        engine.setReplication(.held)
        try await node.purge("second")
        try await node.sharing.publish()
        #expect(await node.reach(.replicated) { $0.level >= .shared }.level == .shared)
    }

    @Test func withoutAQuorumTheNoteSaysThatAFailoverMayLoseIt() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge()
        try await node.sharing.publish()
        let reach = await node.sharing.reach(.replicated, within: Self.long)
        #expect(reach.level == .replicated && reach.note?.contains("'shared.quorum' is 0") == true)
    }

    // MARK: Everywhere

    @Test func everyNodeMustHaveToldThatItHasIt() async throws {
        let nodes = try await nodes(3, engine())
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        let early = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(early.level == .replicated && early.nodes?.applied == 1 && early.nodes?.behind == 2)
        for node in nodes[1...] {
            try await node.sharing.read(wait: .zero)
            // In force there, but not yet durable and told.
            #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        }
        async let wait = nodes[0].sharing.reach(.everywhere, within: Self.long)
        for node in nodes[1...] { try await node.sharing.confirm() }
        let reached = await wait
        #expect(reached.level == .everywhere && reached.nodes == .init(applied: 3, waiting: []))
    }

    @Test func aNodeThatIsAwayIsNamed() async throws {
        let nodes = try await nodes(3, engine())
        nodes[2].link.cut()
        time.pass(41_000)
        for tag in ["a", "b"] { try await nodes[0].purge(tag) }
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        try await nodes[1].sharing.confirm()
        let reach = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.applied == 2)
        #expect(reach.nodes?.waiting == [.init(node: "gw-2", seenSeconds: 41, behind: 2)])
        #expect(reach.note == "1 of 3 nodes have not applied it, first 'gw-2', seen 41 s ago.")
    }

    @Test func aNodeThatValidatesIsNotWaitedForWhenItsLeaseIsOver() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine, cutOff: .validate, lease: .milliseconds(20)) }
        for node in nodes { try await node.follow() }
        nodes[1].link.cut()
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        time.pass(22)
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    /// The log has lost which nodes there are, or has another server's clock.
    @Test func aNodeThatTheLogHasForgottenMayHaveALeaseFromBefore() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine, cutOff: .validate, lease: .seconds(3600)) }
        for node in nodes { try await node.follow() }
        nodes[1].link.cut()
        engine.flush()
        try await nodes[0].follow()
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        let reach = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.behind == 0)
        #expect(try #require(reach.note).contains("The log began anew"))
        // One that goes on serving while it is cut off is promised nothing.
        let serving = try Node(2, engine)
        try await serving.follow()
        try await serving.purge()
        try await serving.sharing.publish()
        try await nodes[0].follow()
        #expect(await serving.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    /// Another node may be in the new epoch before this one, and has not read what was lost.
    @Test func whatANewEpochLostIsNowhereUntilItIsPublishedAgain() async throws {
        let engine = engine()
        let nodes = try await nodes(2, engine)
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        engine.flush()
        try await nodes[1].sharing.connect()
        while try await nodes[1].sharing.read(wait: .zero) > 0 {}
        try await nodes[1].sharing.confirm()
        let early = await nodes[0].sharing.reach(.everywhere, within: .milliseconds(30))
        #expect(early.level < .everywhere)
        try await nodes[0].sharing.connect()
        while try await nodes[0].sharing.read(wait: .zero) > 0 {}
        // The journal knows that it is lost.
        #expect(await nodes[0].sharing.reach(.everywhere, within: .milliseconds(30)).level < .replicated)
        try await nodes[0].sharing.publish()
        #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        try await nodes[1].sharing.read(wait: .zero)
        try await nodes[1].sharing.confirm()
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    /// The log has it, and this node finds it there: it was told no position.
    @Test func aPurgeWhosePublishingWasNotConfirmedIsWaitedFor() async throws {
        let nodes = try await nodes(2, engine())
        try await nodes[0].purge("first")
        try await nodes[0].sharing.publish()
        try await nodes[1].follow()
        try await nodes[0].purge("second")
        nodes[0].link.loseReplies(1)
        await #expect(throws: SharedLogError.timedOut) { try await nodes[0].sharing.publish() }
        try await nodes[0].sharing.read(wait: .zero)
        #expect(try await nodes[0].sharing.publish() == 0)
        #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        try await nodes[1].follow()
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    @Test func aPurgeThatAnotherNodePublishedAgainIsWaitedForInItsNewPlace() async throws {
        let engine = engine()
        let nodes = try await nodes(3, engine)
        engine.setReplication(.held)
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        #expect(engine.failOver(oldPrimaryLives: false) == 1)
        // The third one is in the new epoch before the purge is.
        for number in [2, 1] {
            nodes[number].link.disconnect()
            try await nodes[number].follow()
        }
        nodes[0].link.disconnect()
        try await nodes[0].follow()
        #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        for node in nodes[1...] { try await node.follow() }
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    @Test func manyWaitTogether() async throws {
        let engine = engine()
        let nodes = try await nodes(2, engine, quorum: 1)
        try await nodes[0].purge()
        let levels = await withTaskGroup(of: PurgeLevel.self) { group in
            for _ in 0..<100 { group.addTask { await nodes[0].sharing.reach(.everywhere, within: Self.long).level } }
            group.addTask {
                _ = try? await nodes[0].sharing.publish()
                _ = try? await nodes[1].sharing.read(wait: .zero)
                try? await nodes[1].sharing.confirm()
                return .everywhere
            }
            return await group.reduce(into: Set<PurgeLevel>()) { $0.insert($1) }
        }
        #expect(levels == [.everywhere])
    }

    // MARK: The fleet

    @Test func theFleetHasTheOtherNodes() async throws {
        let nodes = try await nodes(2, engine())
        time.pass(3000)
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        let fleet = await nodes[0].sharing.fleet()
        #expect(fleet.node == "gw-0" && fleet.state == "following" && fleet.waiting == 0)
        #expect(fleet.nodes == [.init(name: "gw-1", version: "", seenSeconds: 3, behind: 1, waiting: 0)])
        nodes[0].link.cut()
        #expect(await nodes[0].sharing.fleet().nodes == nil)
    }
}
