import FleetTesting
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import Synchronization
import TestSupport
import Testing

@testable import FleetTier

/// How far a node says that its purges have come, with an engine in memory.
@Suite(.timeLimit(.minutes(20))) struct PurgeReachTests {
    private struct Node: Sendable {
        let store: JournaledStore
        let contact = ContactLease(.fromStart)
        let link: InMemoryFleetLog
        let sharing: InvalidationSharing

        init(
            _ number: Int,
            _ engine: InMemoryLogEngine,
            quorum: Int = 0,
            cutOff: CutOff = .serve,
            lease: Duration = .seconds(5),
            name: String? = nil,
            store: JournaledStore = JournaledStore(),
            keys: FleetKeys? = FleetKeys(secret: [UInt8](repeating: 7, count: 32)),
            uptime: @escaping @Sendable () -> Duration = InvalidationSharing.systemUptime
        ) throws {
            self.store = store
            link = engine.makeLog()
            let namespace = try #require(FleetNamespace("shop"))
            var settings = InvalidationSharing.Settings(
                namespace: namespace,
                node: try #require(NodeName(name ?? "gw-\(number)")),
                quorum: quorum
            )
            settings.cutOff = cutOff
            settings.lease = lease
            settings.contact = contact
            sharing = InvalidationSharing(
                log: store,
                engine: link,
                sealer: LogSealer(
                    keys: try #require(keys),
                    namespace: namespace
                ),
                settings: settings,
                uptime: uptime,
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
                if isWhole(reach) || Task.isCancelled { return reach }
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
        try await age(nodes)
        return nodes
    }

    /// Lets a lease pass since the log began: then all nodes of before would be known.
    private func age(_ nodes: [Node]) async throws {
        time.pass(6000)
        for node in nodes { try await node.sharing.confirm() }
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

    /// It is not in the journal, so it must not be reported as published.
    @Test func aPurgeBeforeTheStoreHasJoinedIsNotReportedAsPublished() async throws {
        let node = try Node(0, engine())
        try await node.purge("early")
        let early = await node.sharing.reach(.published, within: Self.long)
        #expect(early.level == .queued && early.note?.contains("could not join") == true, "\(early)")
        // Joining needs no server.
        node.link.cut()
        try await node.sharing.join()
        try await node.purge("later")
        #expect(try await node.store.unpublishedCount() == 1)
        let later = await node.sharing.reach(.published, within: .zero)
        #expect(later.level == .queued && later.note?.contains("journal") == true, "\(later)")
    }

    @Test func withoutAnEngineItIsQueuedWhenTheTimeIsOver() async throws {
        let engine = engine()
        let node = try Node(0, engine)
        node.link.cut()
        let run = Task { await node.sharing.run() }
        try await node.purge()
        let reach = await node.sharing.reach(.everywhere, within: .milliseconds(30))  // passes
        #expect(reach.level == .queued && reach.note != nil)
        run.cancel()
        await run.value
    }

    @Test func aCancelledWaitEndsAtOnce() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge()
        let wait = Task { await node.sharing.reach(.published, within: Self.long) }
        wait.cancel()
        #expect(await wait.value.level == .queued)
        // It changed nothing.
        #expect(try await node.sharing.publish() == 1)
    }

    // MARK: Published

    @Test func whatWaitsIsToldAsSoonAsItIsPublished() async throws {
        let node = try await nodes(1, engine())[0]
        for number in 0..<3 { try await node.purge("\(number)") }
        async let reach = node.sharing.reach(.published, within: Self.long)
        try await node.sharing.publish()
        let end = try #require(try await node.link.bounds(within: Self.long)).last
        let reached = await reach
        #expect(reached == PurgeReach(level: .published, position: "\(end)"))
    }

    @Test func whatCameBeforeTheCallCounts() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge("before")
        try await node.sharing.publish()
        #expect(await node.sharing.reach(.published, within: .zero).level == .published)
        try await node.purge("later")
        #expect(await node.sharing.reach(.published, within: .zero).level == .queued)
    }

    // MARK: Replicated

    @Test func aReplicaThatIsMissingKeepsItShared() async throws {
        let engine = engine()
        let node = try await nodes(1, engine, quorum: 1)[0]
        try await node.purge()
        engine.setReplication(.held)
        try await node.sharing.publish()
        let missing = await node.reach(.replicated) { $0.replicas != nil }
        #expect(missing.level == .published && missing.replicas == 0)
        #expect(missing.note == "0 of 1 replicas confirmed the purge.")
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
        #expect(await node.reach(.replicated) { $0.level >= .published }.level == .published)
    }

    @Test func withoutAQuorumTheNoteSaysThatAFailoverMayLoseIt() async throws {
        let node = try await nodes(1, engine())[0]
        try await node.purge()
        try await node.sharing.publish()
        let reach = await node.sharing.reach(.replicated, within: Self.long)
        #expect(reach.level == .replicated && reach.note?.contains("'fleet.quorum' is 0") == true)
    }

    // MARK: Everywhere

    @Test func everyNodeMustHaveToldThatItHasIt() async throws {
        let nodes = try await nodes(3, engine())
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        let early = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(early.level == .replicated && early.nodes?.applied == 1 && early.nodes?.behind == 2)
        #expect(early.note?.hasPrefix("2 of 3 nodes have not applied the purge yet; the first is 'gw-") == true)
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
        try await nodes[1].sharing.confirm()
        for tag in ["a", "b"] { try await nodes[0].purge(tag) }
        try await nodes[0].sharing.publish()
        try await nodes[1].sharing.read(wait: .zero)
        try await nodes[1].sharing.confirm()
        let reach = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.applied == 2)
        #expect(reach.nodes?.waiting == [.init(node: "gw-2", seenSeconds: 41, behind: 2)])
        #expect(reach.note == "1 of 3 nodes has not applied the purge yet: 'gw-2', last seen 41 s ago.")
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
        #expect(try #require(reach.note).contains("The log was started anew"))
    }

    /// Redis starts anew, and is empty. The node that is cut off keeps serving what it has: it
    /// reported a moment ago.
    @Test(arguments: [CutOff.serve, .validate]) func aNodeThatOnlyOthersRememberIsWaitedFor(_ cutOff: CutOff)
        async throws
    {
        let engine = engine()
        let nodes = try (0..<3).map { try Node($0, engine, cutOff: cutOff, lease: .seconds(3600)) }
        for _ in 0..<2 { for node in nodes { try await node.follow() } }
        nodes[1].link.cut()
        engine.restart(keepingData: false)
        for node in nodes { node.link.disconnect() }
        // This one is the first in the new log, and writes what the log has lost.
        try await nodes[2].follow()
        let newcomer = try Node(3, engine, cutOff: cutOff, lease: .seconds(3600))
        for node in [nodes[0], newcomer] { try await node.follow() }
        for node in [nodes[0], newcomer] {
            try await node.purge()
            try await node.sharing.publish()
            for other in [nodes[0], nodes[2], newcomer] { try await other.follow() }
            let reach = await node.reach(.everywhere) { $0.nodes != nil }
            #expect(reach.level == .replicated && reach.nodes?.waiting.map(\.node) == ["gw-1"], "\(reach)")
        }
        // Its own restart forgets nothing either, also at a moment at which the log is empty.
        engine.restart(keepingData: false)
        nodes[0].link.disconnect()
        let again = try Node(0, engine, cutOff: cutOff, lease: .seconds(3600), store: nodes[0].store)
        try await again.follow()
        try await again.purge()
        try await again.sharing.publish()
        let reach = await again.reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level < .everywhere && reach.nodes?.waiting.contains { $0.node == "gw-1" } == true, "\(reach)")
    }

    /// Before that, no node can know that all nodes of before are named again.
    @Test func whatBeganAnewIsNowhereForALease() async throws {
        let engine = engine()
        let uptime = EngineTimer()
        let node = try Node(0, engine, uptime: { .milliseconds(uptime.now.milliseconds) })
        try await node.follow()
        try await node.purge()
        try await node.sharing.publish()
        let early = await node.reach(.everywhere) { $0.nodes != nil }
        #expect(early.level == .replicated && early.note?.contains("The log was started anew") == true)
        // By the log's clock, or by this node's, which is never set.
        uptime.pass(5101)
        #expect(await node.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    // MARK: Identities

    @Test func twoNodesWithOneNameAreTwo() async throws {
        let engine = engine()
        let nodes = try (0..<2).map { try Node($0, engine, name: "gw") }
        for node in nodes { try await node.follow() }
        try await age(nodes)
        try await age(nodes)
        for node in nodes { #expect(node.sharing.status.namesakes.count == 1) }
        #expect(nodes[0].sharing.status.condition.detail.contains("the same name"))
        nodes[1].link.cut()
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        // For however long it is away.
        time.pass(86_400_000)
        let reach = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.waiting.map(\.node) == ["gw"], "\(reach)")
        #expect(await nodes[0].sharing.fleet().nodes?.first?.name == "gw")
    }

    /// A clone of a volume has the original's identity.
    @Test func aProcessOnACopyOfAStoreTakesAnIdentityOfItsOwn() async throws {
        let engine = engine()
        let original = try Node(0, engine, name: "gw")
        try await original.follow()
        let copy = try Node(1, engine, name: "gw")
        _ = try await copy.store.join("shop", at: SystemWallClock().now())
        copy.store.takeNode(of: original.store)
        for _ in 0..<4 {
            for node in [original, copy] { try await node.follow() }
            time.pass(1000)
        }
        let identities = [await original.sharing.identity, await copy.sharing.identity]
        #expect(identities[0]?.store != identities[1]?.store)
        // It outlasts a restart.
        #expect(try await copy.store.join("shop", at: SystemWallClock().now()).node == identities[1]?.store)
        let living = try await original.link.nodes(within: Self.long).filter { !$0.report.hasEnded }
        #expect(Set(living.map(\.report.identity)) == Set(identities.compactMap { $0 }))
        copy.link.cut()
        try await original.purge()
        try await original.sharing.publish()
        time.pass(60_000)
        for _ in 0..<3 { try await original.sharing.confirm() }
        #expect(await original.reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
    }

    /// Before that, it may be a process on a copy that was cut off just now.
    @Test func anEarlierProcessIsWaitedForUntilALeaseIsOver() async throws {
        let engine = engine()
        let uptime = EngineTimer()
        let nodes = try (0..<2).map { try Node($0, engine) }
        for node in nodes { try await node.follow() }
        try await age(nodes)
        let again = try Node(1, engine, store: nodes[1].store, uptime: { .milliseconds(uptime.now.milliseconds) })
        try await again.follow()
        try await nodes[0].purge()
        try await nodes[0].sharing.publish()
        try await again.follow()
        let reach = await nodes[0].reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.behind == 1)
        uptime.pass(5101)
        try await again.sharing.confirm()
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
        // One that ended in order is replaced at once.
        await again.sharing.end()
        let last = try Node(1, engine, store: nodes[1].store)
        try await last.follow()
        try await nodes[0].purge("b")
        try await nodes[0].sharing.publish()
        try await last.follow()
        #expect(await nodes[0].sharing.reach(.everywhere, within: Self.long).level == .everywhere)
        #expect(try await nodes[0].link.nodes(within: Self.long).filter { !$0.report.hasEnded }.count == 2)
    }

    // MARK: Starts

    /// A node that has read the log and is not known to others yet is not waited for, so it serves
    /// nothing without validation.
    @Test func aNodeServesNothingBeforeOthersWaitForIt() async throws {
        let nodes = try await nodes(1, engine())
        let node = nodes[0]
        let again = try Node(0, engine(), store: node.store)
        #expect(again.contact.isStarting && !again.contact.holds)
        try await again.sharing.connect()
        while try await again.sharing.read(wait: .zero) > 0 {}
        #expect(!again.contact.holds)
        try await again.sharing.confirm()
        #expect(again.contact.holds && !again.contact.isStarting)
    }

    @Test func aNodeThatFindsNoLogGivesUpAfterATime() async throws {
        let engine = engine()
        let uptime = EngineTimer()
        let node = try Node(0, engine, uptime: { .milliseconds(uptime.now.milliseconds) })
        node.link.cut()
        let run = Task { await node.sharing.run() }
        try await waitUntil { node.sharing.status.counts.failures >= 3 }
        #expect(!node.contact.holds)
        uptime.pass(1000)
        try await waitUntil { node.contact.holds }
        run.cancel()
        await run.value
    }

    // MARK: Secrets

    /// The steps of the manual, one node after the other, with a purge at each node after each
    /// step.
    @Test func replacingTheSecretLosesNoPurge() async throws {
        let engine = engine()
        let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let steps = [
            FleetKeys(secret: old), FleetKeys(secret: old, next: new), FleetKeys(secret: new, previous: old),
        ]
        var nodes = try (0..<2).map { try Node($0, engine, keys: steps[0]) }
        for node in nodes { try await node.follow() }
        try await age(nodes)
        for keys in steps[1...] {
            for number in nodes.indices {
                await nodes[number].sharing.end()
                nodes[number] = try Node(number, engine, store: nodes[number].store, keys: keys)
                try await nodes[number].follow()
                for node in nodes {
                    try await node.purge()
                    try await node.sharing.publish()
                    for other in nodes { try await other.follow() }
                    #expect(await node.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
                    #expect(nodes.allSatisfy { $0.sharing.status.unopened == 0 })
                }
            }
        }
    }

    /// Without the first step, the second node cannot open what the first one says.
    @Test(arguments: [CutOff.serve, .validate]) func aPurgeThatANodeCannotOpenIsNotInForceThere(_ cutOff: CutOff)
        async throws
    {
        let engine = engine()
        let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let both = FleetKeys(secret: new, previous: old)
        let first = try Node(0, engine, cutOff: cutOff, keys: both)
        var second = try Node(1, engine, cutOff: cutOff)
        for node in [first, second] { try await node.follow() }
        try await age([first, second])
        let before = second.store.current
        try await first.purge()
        try await first.sharing.publish()
        try await second.follow()
        #expect(second.sharing.status.unopened == 1 && second.sharing.status.condition.isFollowing == false)
        #expect(second.sharing.status.condition.detail.contains("a different secret"))
        #expect(second.store.current == before)
        let reach = await first.reach(.everywhere) { $0.nodes != nil }
        #expect(reach.level == .replicated && reach.nodes?.waiting.first?.unopened == 1, "\(reach)")
        #expect(reach.note?.contains("'fleet.next-secret'") == true)
        // With the secret that it missed, it reads the purge again.
        await second.sharing.end()
        second = try Node(1, engine, cutOff: cutOff, store: second.store, keys: both)
        try await second.follow()
        #expect(second.sharing.status.unopened == 0 && second.sharing.status.counts.applied == 1)
        #expect(await first.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
    }

    /// A node that gets the secret while it runs reads the purge again, and is trusted only then.
    ///
    /// Mutant: `new-secret-reads-nothing-again`.
    @Test(arguments: [CutOff.serve, .validate]) func aSecretThatArrivesOpensWhatWasHeld(_ cutOff: CutOff) async throws {
        let engine = engine()
        let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let both = try #require(FleetKeys(secret: new, former: old))
        let first = try Node(0, engine, cutOff: cutOff)
        let second = try Node(1, engine, cutOff: cutOff)
        for node in [first, second] { try await node.follow() }
        try await age([first, second])
        let namespace = try #require(FleetNamespace("shop"))
        first.sharing.replaceSealer(with: LogSealer(keys: both, namespace: namespace))
        try await first.purge()
        try await first.sharing.publish()
        try await second.follow()
        #expect(second.sharing.status.unopened == 1 && second.sharing.status.counts.applied == 0)

        second.sharing.replaceSealer(with: LogSealer(keys: both, namespace: namespace))
        await #expect(throws: FleetLogError.wrongEpoch) { try await second.sharing.read(wait: .zero) }
        // Nothing is confirmed before the entry has been read.
        try await second.sharing.confirm()
        let reach = await first.reach(.everywhere) { $0.level >= .replicated }
        #expect(reach.level == .replicated, "\(reach)")
        try await second.follow()
        #expect(second.sharing.status.unopened == 0 && second.sharing.status.counts.applied == 1)
        #expect(await first.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
        // Without held entries, a new secret reads nothing again.
        second.sharing.replaceSealer(with: LogSealer(keys: both, namespace: namespace))
        #expect(try await second.sharing.read(wait: .zero) == 0)
    }

    /// Nodes read a replaced file at different times, and seal purges with either secret in
    /// between.
    ///
    /// Mutant: `replaced-secret-opens-nothing`.
    @Test func aSecretThatIsReplacedInOneStepLosesNoPurge() async throws {
        let engine = engine()
        let (old, new) = ([UInt8](repeating: 7, count: 32), [UInt8](repeating: 8, count: 32))
        let keys = try #require(FleetKeys(secret: new, former: old))
        let nodes = try (0..<2).map { try Node($0, engine) }
        for node in nodes { try await node.follow() }
        try await age(nodes)
        let namespace = try #require(FleetNamespace("shop"))
        for (number, replacing) in nodes.enumerated() {
            replacing.sharing.replaceSealer(with: LogSealer(keys: keys, namespace: namespace))
            // It connects again if it held entries.
            _ = try? await replacing.sharing.read(wait: .zero)
            try await replacing.follow()
            for node in nodes {
                try await node.purge()
                try await node.sharing.publish()
            }
            for node in nodes { try await node.follow() }
            // Until the second node reads the new secret, it cannot open the first one's purge.
            #expect(nodes.map { $0.sharing.status.unopened } == [0, number == 0 ? 1 : 0])
        }
        for node in nodes {
            #expect(await node.sharing.reach(.everywhere, within: Self.long).level == .everywhere)
        }
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
        let early = await nodes[0].sharing.reach(.everywhere, within: .milliseconds(30))  // passes
        #expect(early.level < .everywhere)
        try await nodes[0].sharing.connect()
        while try await nodes[0].sharing.read(wait: .zero) > 0 {}
        // The journal knows that it is lost.
        #expect(await nodes[0].sharing.reach(.everywhere, within: .milliseconds(30)).level < .replicated)  // passes
        try await nodes[0].sharing.publish()
        #expect(await nodes[0].reach(.everywhere) { $0.level >= .replicated }.level == .replicated)
        try await nodes[1].sharing.read(wait: .zero)
        try await nodes[1].sharing.confirm()
        time.pass(6000)
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
        await #expect(throws: FleetLogError.timedOut) { try await nodes[0].sharing.publish() }
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
        time.pass(6000)
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
        let other = try #require(await nodes[1].sharing.identity)
        #expect(
            fleet.nodes == [
                .init(name: "gw-1", version: "", seenSeconds: 3, behind: 1, waiting: 0, identity: "\(other)")
            ]
        )
        nodes[0].link.cut()
        #expect(await nodes[0].sharing.fleet().nodes == nil)
    }
}
