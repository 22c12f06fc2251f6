import FleetTesting
import FleetTier
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import TestSupport

/// Nodes of a fleet with a log that has every fault a Redis can have, in a history that a seed
/// determines.
///
/// The nodes are the real ones (`InvalidationSharing`, `Follower`, journal); only the engine and
/// the stores are in memory. An oracle that knows every purge judges each answer.
final class SharingWorld {
    struct Report {
        var violations: [String] = []
        var answers = 0
        var purges = 0
        var failovers = 0
        var lost = 0
        var flushes = 0
        var gaps = 0
        var published = 0
        var powerCuts = 0
        /// Purges of others that power cuts took back.
        var takenBack = 0
        /// Time-outs that ended no contact.
        var passed = 0
        /// How often all nodes had what one had published.
        var everywhere = 0
        /// Starts after which purges of before were in force.
        var caughtUp = 0
        /// Copies of stores that were started while the original ran.
        var clones = 0
        /// Entries that a node met that had not got the new secret.
        var unopened = 0
        /// Secrets that were replaced as the manual says, by all nodes.
        var rotations = 0
    }

    /// The properties of a history that do not change.
    private struct Plan {
        /// Whether all nodes have one name.
        var sharesName: Bool
        /// Whether the secret is replaced, and whether nodes may skip the step in which the new one
        /// only opens.
        var rotates: Bool
        var skipsSteps: Bool
    }

    private struct Purge {
        var node: Int
        var key: Int
        /// Smaller versions must not be served as fresh.
        var least: Int
    }

    private struct Fill {
        var key: Int
        var fencingNumber: InvalidationSequence
        /// `nil` before the origin was asked.
        var version: Int?
    }

    private final class Node {
        let number: Int
        let store: any ResponseStore
        let log: any InvalidationLog
        let link: InMemoryFleetLog
        var sharing: InvalidationSharing
        var contact = ContactLease(.fromStart)
        /// The step of the replacement of the secret.
        var secret = Secret.old
        /// When it starts again; `nil` if it runs.
        var startsAt: Int?
        /// Purges that were in the log when it started.
        var heard: Set<Int> = []
        var allowance = TimeOutAllowance()
        var isConnected = false
        var isCut = false
        var fills: [Fill] = []
        var own: [Int] = []
        /// The purges that are in force here.
        var applied: Set<Int> = []
        /// Those of them that no power cut takes back.
        var durable: Set<Int> = []

        init(
            _ number: Int,
            _ pair: InvalidationLogContract.Pair,
            _ link: InMemoryFleetLog,
            _ sharing: (InvalidationSharing, ContactLease)
        ) {
            self.number = number
            (store, log) = (pair.store, pair.log)
            self.link = link
            (self.sharing, contact) = sharing
        }

        /// Whether it serves what is fresh.
        var serves: Bool { startsAt == nil && contact.holds }
    }

    /// The settings of a node while the fleet's secret is replaced, in the order of the manual.
    private enum Secret: Int, Comparable {
        case old, both, new

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

        var keys: FleetKeys? {
            let (old, new) = ([UInt8](repeating: 5, count: 32), [UInt8](repeating: 6, count: 32))
            switch self {
            case .old: return FleetKeys(secret: old)
            case .both: return FleetKeys(secret: old, next: new)
            case .new: return FleetKeys(secret: new, previous: old)
            }
        }
    }

    static let (nodeCount, keyCount, steps) = (4, 3, 400)
    /// Milliseconds of one step.
    private static let step: Int64 = 200

    private var random: SeededRandom
    private let clock = ManualClock()
    private let engine: InMemoryLogEngine
    private var nodes: [Node] = []
    private var versions = [Int](repeating: 1, count: keyCount)
    private var keys: [StoreKey] = []
    private var purges: [Purge] = []
    private var places: [PurgeID: Int] = [:]
    private var report = Report()
    private var time = 0
    private let plan: Plan
    /// The processes that another node has seen in the log.
    private var seen: Set<NodeIdentity> = []

    private init(seed: UInt64, _ make: (Int) async throws -> InvalidationLogContract.Pair) async throws {
        random = SeededRandom(seed: seed)
        plan = Plan(
            sharesName: random.chance(0.3),
            rotates: random.chance(0.4),
            skipsSteps: random.chance(0.5)
        )
        let clock = clock
        engine = InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: clock.now().milliseconds) }
        engine.setReplication(.onDemand)
        keys = try (0..<Self.keyCount).map { StoreKey(target: try TargetURI("https://a.example/\($0)")) }
        for number in 0..<Self.nodeCount {
            let pair = try await make(number)
            let link = engine.makeLog()
            // A store journals from its first start on.
            _ = try await pair.log.join("shop", at: clock.now())
            nodes.append(Node(number, pair, link, try sharing(number, .old, pair.log, link)))
        }
    }

    /// Runs the history of a seed.
    static func run(
        seed: UInt64,
        _ make: (Int) async throws -> InvalidationLogContract.Pair = { _ in memory() }
    ) async throws -> Report {
        let world = try await SharingWorld(seed: seed, make)
        try await world.run()
        return world.report
    }

    static func memory() -> InvalidationLogContract.Pair {
        let store = JournaledStore()
        return .init(store: store, log: store)
    }

    private func sharing(
        _ number: Int,
        _ secret: Secret,
        _ log: any InvalidationLog,
        _ link: InMemoryFleetLog
    ) throws -> (InvalidationSharing, ContactLease) {
        guard let keys = secret.keys, let namespace = FleetNamespace("shop"),
            let name = NodeName(plan.sharesName ? "gw" : "gw-\(number)")
        else { throw Unexpected() }
        var settings = InvalidationSharing.Settings(namespace: namespace, node: name, quorum: 1)
        settings.settledTime = 24
        let contact = ContactLease(.fromStart)
        settings.contact = contact
        let clock = clock
        let sharing = InvalidationSharing(
            log: log,
            engine: link,
            sealer: LogSealer(keys: keys, namespace: namespace),
            settings: settings,
            wall: clock,
            uptime: { .milliseconds(clock.now().milliseconds) },
            generator: SeededRandom(seed: random.next()),
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        )
        return (sharing, contact)
    }

    struct Unexpected: Error {}

    // MARK: The history

    private func run() async throws {
        for step in 0..<Self.steps {
            time = step
            clock.advance(by: .milliseconds(Self.step))
            // A quiet time now and then: all nodes meet.
            let isCalm = step % 200 > 160
            if isCalm {
                mend()
            } else if random.chance(0.06) {
                try await fault()
            }
            if step % 200 == 161, random.chance(0.3) { try await clone() }
            if step % 200 == 163, plan.rotates, !plan.skipsSteps { try await rotate() }
            for node in nodes where node.startsAt.map({ $0 <= step }) ?? false { try await start(node) }
            // Each running node confirms once in a second.
            for node in nodes where step % 5 == node.number { await confirm(node) }
            for _ in 0..<3 { try await act(isCalm: isCalm) }
            try await judgeEverywhere(nodes[step % Self.nodeCount])
            if step % 200 == 199 { try await meet() }
        }
        for node in nodes { count(node) }
        if plan.rotates, !plan.skipsSteps {
            report.rotations += nodes.allSatisfy { $0.secret == .new } ? 1 : 0
            // Nothing that is sealed by the steps of the manual stays closed to any node.
            if report.unopened > 0 { report.violations.append("\(report.unopened) entries could not be opened") }
        }
    }

    private func count(_ node: Node) {
        let counts = node.sharing.status.counts
        report.gaps += counts.gaps
        report.published += counts.published
        report.unopened += counts.unreadable
    }

    private func act(isCalm: Bool) async throws {
        let node = nodes[random.below(Self.nodeCount)]
        guard node.startsAt == nil else { return }
        switch random.below(1000) {
        case ..<25 where !isCalm: try await purge(random.below(Self.keyCount), at: node)
        case ..<150:
            await perform(node) {
                try await $0.connect()
            } onSuccess: {
                node.isConnected = true
            }
        case ..<350: try await read(node)
        case ..<430: await publish(node)
        case ..<500: await confirm(node)
        case ..<700: try await answer(node, random.below(Self.keyCount))
        case ..<950: try await fill(node)
        default: engine.replicate(random.below(4))
        }
    }

    private func perform(
        _ node: Node,
        _ step: @Sendable (InvalidationSharing) async throws -> Void,
        onSuccess: () -> Void = {}
    ) async {
        do {
            try await step(node.sharing)
            node.allowance.renew()
            onSuccess()
        } catch {
            // As 'run' does while it follows.
            if node.isConnected, node.allowance.passes(error) {
                report.passed += 1
                return
            }
            node.isConnected = false
            await node.sharing.disconnect(because: error)
        }
    }

    private func read(_ node: Node) async throws {
        guard node.isConnected else { return }
        await perform(node) { try await $0.read(wait: .zero) }
        for invalidation in try await node.log.since(.zero, limit: .max) {
            if let purge = places[invalidation.id] { node.applied.insert(purge) }
        }
    }

    /// I3: when a node says that all nodes have what it has published, none serves anything of
    /// before as fresh, whatever the log has forgotten.
    private func judgeEverywhere(_ node: Node) async throws {
        guard random.chance(0.5), node.isConnected, node.startsAt == nil,
            await node.sharing.publishedPosition != nil,
            await node.sharing.presentEpoch() != nil,
            await node.sharing.checkReach(.everywhere, within: .seconds(1)).level == .everywhere
        else { return }
        report.everywhere += 1
        for other in nodes where other.serves {
            // One that was not seen by any other before the log was lost is known to none.
            guard let identity = await other.sharing.identity, seen.contains(identity) else { continue }
            for key in keys.indices {
                guard let version = try await fresh(other, key) else { continue }
                for number in node.own where purges[number].key == key && version < purges[number].least {
                    violate("after purge \(number) of node \(node.number) was everywhere", other, key, version)
                }
            }
        }
    }

    /// Confirms. If the node has told others what it has applied, that is durable.
    private func confirm(_ node: Node) async {
        guard node.isConnected, node.startsAt == nil else { return }
        let rows = try? await node.link.nodes(within: .seconds(1))
        await perform(node) { try await $0.confirm() }
        let own = await node.sharing.identity
        let after = try? await node.link.nodes(within: .seconds(1))
        // It has told nothing if it was not in a position to.
        func told(_ rows: [NodeRow]) -> NodeRow? { rows.first { $0.report.identity == own } }
        guard let rows, let after, told(after) != told(rows) else { return }
        node.durable = node.applied
        // It has written down all rows of its server before.
        seen.formUnion(rows.map(\.report.identity).filter { $0 != own })
    }

    private func publish(_ node: Node) async {
        guard node.isConnected else { return }
        await perform(node) { try await $0.publish() }
    }

    /// The purges that wait at a node; none if its database took a damaged one's place just now.
    private func waiting(_ node: Node) async throws -> [FleetInvalidation] {
        do {
            return try await node.log.unpublished(limit: .max)
        } catch InvalidationLogError.notJoined {
            return []
        }
    }

    private func purge(_ key: Int, at node: Node) async throws {
        versions[key] += 1
        let number = purges.count
        purges.append(Purge(node: node.number, key: key, least: versions[key]))
        report.purges += 1
        _ = try await node.store.invalidate(.key(keys[key]), .mark(.unspecified), at: clock.now())
        node.own.append(number)
        node.durable = node.applied
        if let id = try await waiting(node).last?.id { places[id] = number }
    }

    // MARK: Answers

    private func answer(_ node: Node, _ key: Int) async throws {
        if node.serves, let version = try await fresh(node, key) {
            judge(node, key, version)
            for number in node.heard where purges[number].key == key && version < purges[number].least {
                violate("after a start with purge \(number) in the log", node, key, version)
            }
        } else if !node.fills.contains(where: { $0.key == key }) {
            node.fills.append(Fill(key: key, fencingNumber: node.store.invalidationSequence))
        }
    }

    private func fill(_ node: Node) async throws {
        guard !node.fills.isEmpty else { return }
        let index = random.below(node.fills.count)
        let fill = node.fills[index]
        guard let version = fill.version else {
            node.fills[index].version = versions[fill.key]
            return
        }
        node.fills.remove(at: index)
        let now = clock.now()
        let draft = ResponseDraft(
            key: keys[fill.key],
            head: StoredResponseHead(status: .ok, fields: [.eTag: "\(version)"], requestTime: now, responseTime: now),
            freshUntil: .distantFuture,
            isUsableStale: true,
            storedAt: now
        )
        guard let writer = try await node.store.beginWrite(draft, fencingNumber: fill.fencingNumber) else { return }
        if try await writer.finish() != nil { judge(node, fill.key, version) }
    }

    /// The version that the node would serve as fresh.
    private func fresh(_ node: Node, _ key: Int) async throws -> Int? {
        let stored = try await node.store.lookup(keys[key]).first { $0.head.invalidation == nil }
        return stored?.head.fields[.eTag].flatMap { Int($0) }
    }

    /// I1 and I2 of the design: after its own purge, and after one that it has put in force, a node
    /// serves nothing of before as fresh.
    private func judge(_ node: Node, _ key: Int, _ version: Int) {
        report.answers += 1
        for number in node.own where purges[number].key == key && version < purges[number].least {
            violate("after its own purge \(number)", node, key, version)
        }
        for number in node.applied where purges[number].key == key && version < purges[number].least {
            violate("after it had applied purge \(number)", node, key, version)
        }
    }

    private func violate(_ reason: String, _ node: Node, _ key: Int, _ version: Int) {
        report.violations.append("step \(time): node \(node.number) serves version \(version) of \(key) \(reason)")
    }

    // MARK: Faults

    private func fault() async throws {
        let node = nodes[random.below(Self.nodeCount)]
        switch random.below(100) {
        case ..<22:
            node.isCut.toggle()
            if node.isCut { node.link.cut() } else { node.link.mend() }
        case ..<32: engine.setReplication(random.chance(0.5) ? .held : .onDemand)
        case ..<42:
            report.failovers += 1
            report.lost += engine.failOver(oldPrimaryLives: random.chance(0.5))
        case ..<46:
            report.flushes += 1
            engine.flush()
        case ..<50: engine.evictLog()
        case ..<53: engine.evictEpoch()
        case ..<58: engine.trim(to: 1 + random.below(6))
        case ..<62: node.link.loseReplies(1 + random.below(3))
        case ..<64: engine.evictNames()
        case ..<67: engine.restart(keepingData: random.chance(0.5))
        case ..<69: engine.evictNodes()
        case ..<84: node.link.disconnect()
        case ..<92: try await stop(node, inOrder: random.chance(0.5))
        default: try await cutPower(node)
        }
        // Entries of the log may be lost before a node that starts has read it.
        for node in nodes where !node.contact.holds { node.heard = [] }
    }

    private func cutPower(_ node: Node) async throws {
        if let store = node.store as? JournaledStore {
            report.powerCuts += 1
            report.takenBack += node.applied.subtracting(node.durable).count
            store.cutPower()
            node.applied = node.durable
        }
        try await stop(node)
    }

    /// Ends a process. It starts again at once, or later.
    private func stop(_ node: Node, inOrder: Bool = false) async throws {
        guard node.startsAt == nil else { return }
        if inOrder { await node.sharing.end() }
        node.fills = []
        node.isConnected = false
        node.link.disconnect()
        node.startsAt = time + (random.chance(0.5) ? 0 : 1 + random.below(40))
        if node.startsAt == time { try await start(node) }
    }

    private func start(_ node: Node) async throws {
        count(node)
        node.heard = []
        if plan.rotates { advanceSecret(of: node) }
        node.startsAt = nil
        (node.sharing, node.contact) = try sharing(node.number, node.secret, node.log, node.link)
        guard !node.isCut else { return }
        // One that skips steps cannot open all of it.
        guard !plan.skipsSteps || !plan.rotates || node.secret == .new else { return }
        node.heard = try await purgesInLog()
        report.caughtUp += node.heard.isEmpty ? 0 : 1
    }

    /// The purges that the present primary has.
    private func purgesInLog() async throws -> Set<Int> {
        let log = engine.makeLog()
        let batch = try? await log.follow(after: .zero, count: LogBatch.mostEntries, wait: .zero, within: .seconds(1))
        // One without an epoch of its own is about to be replaced in part.
        guard let batch, batch.epoch != nil else { return [] }
        return Set(
            batch.entries.compactMap { entry in
                guard case .purge(let sealed) = entry.content else { return nil }
                return SealedPurge.id(of: sealed).flatMap { places[$0] }
            }
        )
    }

    /// A step of the manual at all nodes, one after the other.
    private func rotate() async throws {
        for node in nodes {
            try await stop(node, inOrder: true)
            if node.startsAt != nil { try await start(node) }
        }
    }

    /// By the manual, no node takes a step before all have taken the one before.
    private func advanceSecret(of node: Node) {
        switch node.secret {
        case .old: node.secret = plan.skipsSteps ? .new : .both
        case .both: if !nodes.contains(where: { $0.secret == .old }) { node.secret = .new }
        case .new: break
        }
    }

    /// A copy of a node's store runs in the place of another one, beside the original.
    private func clone() async throws {
        let (original, copy) = (nodes[random.below(Self.nodeCount)], nodes[random.below(Self.nodeCount)])
        guard original !== copy, let source = original.store as? JournaledStore,
            let store = copy.store as? JournaledStore
        else { return }
        for node in nodes where node.startsAt != nil { try await start(node) }
        store.takeNode(of: source)
        try await stop(copy)
        if copy.startsAt != nil { try await start(copy) }
        report.clones += 1
    }

    private func mend() {
        engine.setReplication(.onDemand)
        for node in nodes {
            node.isCut = false
            node.link.mend()
            node.link.loseReplies(0)
        }
    }

    /// All nodes meet. Then none has as fresh what any purge was about: I5 of the design.
    private func meet() async throws {
        mend()
        for node in nodes {
            if node.startsAt != nil { try await start(node) }
            // An operator who skipped a step has to give all nodes the new secret now.
            if plan.rotates, plan.skipsSteps, node.secret == .old {
                try await stop(node)
                if node.startsAt != nil { try await start(node) }
            }
            node.link.disconnect()
        }
        for _ in 0..<8 {
            clock.advance(by: .seconds(1))
            for node in nodes {
                await perform(node) {
                    try await $0.connect()
                } onSuccess: {
                    node.isConnected = true
                }
                for _ in 0..<3 { try await read(node) }
                await publish(node)
                await confirm(node)
            }
        }
        for node in nodes {
            node.fills = []
            for key in keys.indices {
                guard let version = try await fresh(node, key) else { continue }
                report.answers += 1
                for (number, purge) in purges.enumerated() where purge.key == key && version < purge.least {
                    violate("after all have met; purge \(number) was at node \(purge.node)", node, key, version)
                }
            }
            if node.sharing.status.unopened > 0 {
                report.violations.append("step \(time): node \(node.number) cannot open entries after all have met")
            }
            let waiting = try await waiting(node).count
            if waiting > 0 { report.violations.append("step \(time): \(waiting) purges of node \(node.number) wait") }
        }
    }
}

extension SeededRandom {
    fileprivate mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
    fileprivate mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }
}
