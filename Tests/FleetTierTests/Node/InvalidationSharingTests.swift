import FleetTesting
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import TestSupport
import Testing

@testable import FleetTier

/// Nodes that run as they do in a service, with an engine in memory.
@Suite(.timeLimit(.minutes(20))) struct InvalidationSharingTests {
    private struct Node: Sendable {
        let store: JournaledStore
        let link: InMemoryFleetLog
        let sharing: InvalidationSharing
        let contact = ContactLease()

        init(
            _ number: Int,
            _ engine: InMemoryLogEngine,
            secret: UInt8 = 7,
            quorum: Int = 0,
            wall: any WallClock = SystemWallClock(),
            store: JournaledStore = JournaledStore()
        ) throws {
            self.store = store
            link = engine.makeLog()
            let namespace = try #require(FleetNamespace("shop"))
            var settings = InvalidationSharing.Settings(
                namespace: namespace,
                node: try #require(NodeName("gw-\(number)")),
                quorum: quorum
            )
            settings.contact = contact
            // Much longer than the test.
            settings.lease = .seconds(3600)
            sharing = InvalidationSharing(
                log: store,
                engine: link,
                sealer: LogSealer(
                    keys: try #require(FleetKeys(secret: [UInt8](repeating: secret, count: 32))),
                    namespace: namespace
                ),
                settings: settings,
                wall: wall,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        /// Waits until something is so. The test's limit of time ends a wait for what never comes.
        func wait(until isSo: @Sendable (Node) -> Bool) async throws {
            try await waitUntil { isSo(self) }
        }

        func put(_ key: StoreKey) async throws {
            let now = Timestamp(seconds: 1_767_225_600)
            let draft = ResponseDraft(
                key: key,
                head: StoredResponseHead(status: .ok, fields: [:], requestTime: now, responseTime: now),
                freshUntil: .distantFuture,
                isUsableStale: true,
                storedAt: now
            )
            let writer = try #require(try await store.beginWrite(draft, fencingNumber: store.invalidationSequence))
            #expect(try await writer.finish() != nil)
        }

        func isMarked(_ key: StoreKey) -> Bool? {
            store.resident(key)?.first.map { $0.head.invalidation != nil }
        }

        func purge(_ scope: InvalidationScope, _ effect: InvalidationEffect = .mark(.unspecified)) async throws {
            _ = try await store.invalidate(scope, effect, at: SystemWallClock().now())
        }
    }

    private func engine() -> InMemoryLogEngine {
        InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: SystemWallClock().now().milliseconds) }
    }

    private func key(_ path: String) throws -> StoreKey {
        StoreKey(target: try TargetURI("https://a.example\(path)"))
    }

    private func run(_ nodes: [Node], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in nodes { group.addTask { await node.sharing.run() } }
            defer { group.cancelAll() }
            try await body()
        }
    }

    @Test func aPurgeIsInForceAtAllNodes() async throws {
        let engine = engine()
        let nodes = try (0..<8).map { try Node($0, engine) }
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            let (purged, other) = (try key("/purged"), try key("/other"))
            for node in nodes { for key in [purged, other] { try await node.put(key) } }
            try await nodes[0].purge(.key(purged))
            for node in nodes { try await node.wait { $0.isMarked(purged) == true } }
            for node in nodes { #expect(node.isMarked(other) == false) }
            // The other way round, and a removal.
            try await nodes[7].purge(.key(other), .remove)
            for node in nodes { try await node.wait { $0.isMarked(other) == nil } }
        }
    }

    /// While a change of the routes reaches one node after the other, the nodes store the responses
    /// to a URL in different places. Mutants: `sharing-routes-of-this-node-are-ignored`,
    /// `sharing-routes-of-this-node-remove`.
    @Test func eachNodeResolvesClientsURLsByItsOwnRoutes() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        nodes[1].sharing.resolve(by: GatewayPlaces())
        let keys = try ["/url", "/under/prefix", "/removed", "/changed"].map { try key($0) }
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for key in keys { try await nodes[1].put(key) }
            try await nodes[0].purge(.target(TargetURI("http://gw.example/url")))
            try await nodes[0].purge(.prefix(TargetPrefix("http://gw.example/under/")))
            try await nodes[0].purge(.target(TargetURI("http://gw.example/removed")), .remove)
            try await nodes[0].purge(.target(TargetURI("http://gw.example/changed")), .mark(.unsafeMethod))
            try await nodes[1].wait { $0.sharing.status.counts.applied == 4 }
            // A removal only marks these places, and an unsafe method concerns no client's URL.
            #expect(keys.map { nodes[1].isMarked($0) } == [true, true, true, false])
        }
    }

    @Test func aNodeThatWasCutOffHearsOfItWhenItIsBack() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        let key = try key("/purged")
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for node in nodes { try await node.put(key) }
            nodes[1].link.cut()
            try await nodes[1].wait { $0.sharing.status.state == .cutOff }
            try await nodes[0].purge(.key(key))
            try await nodes[0].wait { $0.sharing.status.counts.published == 1 }
            #expect(nodes[1].isMarked(key) == false)
            nodes[1].link.mend()
            try await nodes[1].wait { $0.isMarked(key) == true }
            #expect(nodes[1].sharing.status.counts.gaps == 1, "beside the first contact nothing was missed")
        }
    }

    /// The process may have been busy for the length of a time-out.
    @Test func oneTimeOutEndsNoContact() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        let key = try key("/purged")
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for node in nodes { try await node.put(key) }
            nodes[1].link.loseReplies(1)
            try await nodes[1].wait { $0.sharing.status.counts.failures == 1 }
            try await nodes[0].purge(.key(key))
            try await nodes[1].wait { $0.isMarked(key) == true }
            #expect(nodes[1].sharing.status.counts.connections == 1)
            #expect(nodes[1].sharing.status.counts.gaps == 1, "that of the first contact")
        }
    }

    @Test func twoTimeOutsInARowEndAContact() async throws {
        var allowance = TimeOutAllowance()
        let errors = [FleetLogError.unreachable, .timedOut, .timedOut]
        // The rest has no end if it is not so.
        try #require(errors.map { allowance.passes($0) } == [false, true, false])
        allowance.renew()
        let isRenewed = allowance.passes(FleetLogError.timedOut)
        #expect(isRenewed)
        let node = try Node(0, engine())
        try await run([node]) {
            try await node.wait { $0.sharing.status.state == .following }
            node.link.loseReplies(.max)
            try await node.wait { $0.sharing.status.state == .cutOff }
            node.link.loseReplies(0)
            try await node.wait { $0.sharing.status.state == .following }
            #expect(node.sharing.status.counts.connections > 1)
        }
    }

    @Test func aPurgeOfACutOffNodeWaits() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        let key = try key("/purged")
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for node in nodes { try await node.put(key) }
            nodes[0].link.cut()
            try await nodes[0].wait { $0.sharing.status.state == .cutOff }
            try await nodes[0].purge(.key(key))
            #expect(nodes[0].isMarked(key) == true && nodes[1].isMarked(key) == false)
            nodes[0].link.mend()
            try await nodes[1].wait { $0.isMarked(key) == true }
        }
    }

    @Test func aFlushMarksNothingAtNodesInContact() async throws {
        let engine = engine()
        let nodes = try (0..<3).map { try Node($0, engine) }
        let (kept, purged) = (try key("/kept"), try key("/purged"))
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for node in nodes { for key in [kept, purged] { try await node.put(key) } }
            // Contact is a matter of a confirmation, the first of which comes at once.
            for node in nodes { try await node.sharing.confirm() }
            engine.flush()
            try await nodes[0].purge(.key(purged))
            for node in nodes { try await node.wait { $0.isMarked(purged) == true } }
            for node in nodes {
                #expect(node.isMarked(kept) == false)
                #expect(node.sharing.status.counts.gaps == 1, "the first contact alone")
            }
        }
    }

    /// Also in the epoch that it has left: it has to read what came while it was away.
    @Test func aNodeThatIsBackFollowsOnlyWhenItHasRead() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        for node in nodes {
            try await node.sharing.connect()
            #expect(node.sharing.status.state == .resyncing)
            try await node.sharing.read(wait: .zero)
            #expect(node.sharing.status.state == .following)
        }
        await nodes[1].sharing.disconnect(because: FleetLogError.unreachable)
        #expect(nodes[1].sharing.status.state == .cutOff)
        try await nodes[0].purge(.all)
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.connect()
        #expect(nodes[1].sharing.status.state == .resyncing && !nodes[1].sharing.status.condition.isFollowing)
        try await nodes[1].sharing.read(wait: .zero)
        #expect(nodes[1].sharing.status.state == .following)
    }

    @Test func anotherFleetsEntriesCostACounter() async throws {
        let engine = engine()
        let (ours, other) = (try Node(0, engine), try Node(1, engine, secret: 8))
        let key = try key("/kept")
        try await run([ours, other]) {
            for node in [ours, other] { try await node.wait { $0.sharing.status.state == .following } }
            try await ours.put(key)
            try await other.purge(.all)
            try await ours.wait { $0.sharing.status.counts.unreadable == 1 }
            #expect(ours.isMarked(key) == false)
            try await ours.wait { $0.sharing.status.unopened == 1 }
        }
    }

    /// After a minute, the copies of other nodes may be newer than it, and the only ones offline.
    @Test(arguments: [(59, true), (61, false)])
    func anOldRemovalMarks(_ seconds: Int, _ isRemoved: Bool) async throws {
        let clock = ManualClock()
        let engine = InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: clock.now().milliseconds) }
        let nodes = try (0..<2).map { try Node($0, engine, wall: clock) }
        let key = try key("/removed")
        for node in nodes {
            try await node.sharing.connect()
            try await node.sharing.read(wait: .zero)
            try await node.put(key)
        }
        _ = try await nodes[0].store.invalidate(.key(key), .remove, at: clock.now())
        clock.advance(by: .seconds(seconds))
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        #expect(nodes[0].isMarked(key) == nil)
        #expect(nodes[1].isMarked(key) == (isRemoved ? nil : true))
    }

    /// An engine whose clock stands still makes no purge younger.
    @Test func anEngineThatLiesAboutItsTimeLetsNoOldPurgeRemove() async throws {
        let clock = ManualClock()
        let engine = InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: 1_767_225_600_000) }
        let nodes = try (0..<2).map { try Node($0, engine, wall: clock) }
        let key = try key("/removed")
        for node in nodes {
            try await node.sharing.connect()
            try await node.sharing.read(wait: .zero)
            try await node.put(key)
        }
        _ = try await nodes[0].store.invalidate(.key(key), .remove, at: clock.now())
        clock.advance(by: .seconds(3600))
        for node in nodes { try await node.sharing.connect() }
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        #expect(nodes[1].isMarked(key) == true)
    }

    @Test func unconfirmedPurgesAreKept() async throws {
        let clock = ManualClock()
        let engine = InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: clock.now().milliseconds) }
        let node = try Node(0, engine, quorum: 1, wall: clock)
        let log = node.store
        try await node.sharing.connect()
        try await node.sharing.read(wait: .zero)
        _ = try await node.store.invalidate(.all, .mark(.unspecified), at: clock.now())
        engine.setReplication(.held)
        try await node.sharing.publish()
        for _ in 0..<3 {
            try await node.sharing.confirm()
            clock.advance(by: .seconds(601))
        }
        #expect(try await log.since(.zero, limit: 9).count == 1)
        engine.setReplication(.onDemand)
        try await node.sharing.confirm()
        #expect(try await log.since(.zero, limit: 9).count == 1)
        clock.advance(by: .seconds(601))
        try await node.sharing.confirm()
        #expect(try await log.since(.zero, limit: 9).count == 0)
    }

    /// `cut-off: validate`: only a contact that the replicas have confirmed lets a node trust what
    /// it has stored.
    @Test func onlyAConfirmedContactExtendsTheLease() async throws {
        let engine = engine()
        let node = try Node(0, engine, quorum: 1)
        try await node.sharing.connect()
        try await node.sharing.confirm()
        #expect(!node.contact.holds)
        try await node.sharing.read(wait: .zero)
        #expect(!node.contact.holds)
        engine.setReplication(.held)
        try await node.sharing.confirm()
        #expect(!node.contact.holds)
        engine.setReplication(.onDemand)
        try await node.sharing.confirm()
        #expect(node.contact.holds)
    }

    /// An engine that takes few of many, or none: exactly those have a position that it has.
    @Test func manyPurgesArePublishedInTheirOrder() async throws {
        let engine = engine()
        let node = try Node(0, engine)
        let log = node.store
        try await node.sharing.connect()
        try await node.sharing.read(wait: .zero)
        for number in 0..<(NewEntry.most * 2 + 3) { try await node.purge(.tag("\(number)")) }
        let waiting = try await log.unpublished(limit: .max).map(\.id)
        engine.takeEntries(atMost: 5)
        #expect(try await node.sharing.publish() == waiting.count)
        #expect(try await log.since(.zero, limit: .max).map(\.id) == waiting)
        let entries = try await node.link.follow(after: .zero, count: 512, wait: .zero, within: .seconds(600)).entries
        let published = entries.compactMap { entry in
            if case .purge(let sealed) = entry.content { SealedPurge.id(of: sealed) } else { nil }
        }
        #expect(published == waiting)
        #expect(node.sharing.status.waiting == 0)
        // Performed, but the node does not know: they wait, and are not added again.
        try await node.purge(.tag("lost"))
        node.link.loseReplies(1)
        await #expect(throws: FleetLogError.timedOut) { try await node.sharing.publish() }
        #expect(try await log.unpublishedCount() == 1)
        try await node.sharing.publish()
        #expect(try await node.link.bounds(within: .seconds(600))?.last.number == UInt64(waiting.count + 2))
    }

    /// Others rely on it: a power cut must not take it back.
    @Test func whatIsToldToOthersIsDurable() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        let key = try key("/purged")
        for node in nodes {
            try await node.sharing.connect()
            try await node.sharing.read(wait: .zero)
            try await node.put(key)
            try await node.sharing.confirm()
        }
        try await nodes[0].purge(.key(key))
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        #expect(nodes[1].isMarked(key) == true)
        nodes[1].store.cutPower()
        #expect(nodes[1].isMarked(key) == false)
        // The place is lost as well.
        let again = try Node(1, engine, store: nodes[1].store)
        try await again.sharing.connect()
        try await again.sharing.read(wait: .zero)
        #expect(again.isMarked(key) == true && again.sharing.status.counts.gaps == 0)
        try await again.sharing.confirm()
        let identity = await again.sharing.identity
        let told = try await again.link.nodes(within: .seconds(600)).first { $0.report.identity == identity }
        #expect(told?.report.applied.number == 2)
        again.store.cutPower()
        #expect(again.isMarked(key) == true)
    }

    /// While it is cut off, it confirms nothing, for as long as that takes.
    @Test func aNodeThatIsCutOffKeepsWhatItHasApplied() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine) }
        let key = try key("/purged")
        try await run(nodes) {
            for node in nodes { try await node.wait { $0.sharing.status.state == .following } }
            for node in nodes { try await node.put(key) }
            try await nodes[0].purge(.key(key))
            try await nodes[1].wait { $0.isMarked(key) == true }
            nodes[1].link.cut()
            try await nodes[1].wait { $0.sharing.status.state == .cutOff }
            nodes[1].store.cutPower()
            #expect(nodes[1].isMarked(key) == true)
        }
    }

    @Test func aStartNeedsNoEngine() async throws {
        let engine = engine()
        let node = try Node(0, engine)
        node.link.cut()
        try await run([node]) {
            try await node.wait { $0.sharing.status.counts.failures > 1 }
            let key = try key("/local")
            try await node.put(key)
            try await node.purge(.key(key))
            #expect(node.isMarked(key) == true)
            node.link.mend()
            try await node.wait { $0.sharing.status.counts.published == 1 }
        }
    }
}
