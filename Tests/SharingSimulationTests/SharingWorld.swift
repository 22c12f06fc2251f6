import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import SharedTier

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
    }

    private struct Purge {
        var node: Int
        var key: Int
        /// Smaller versions must not be served as fresh.
        var least: Int
    }

    private struct Fill {
        var key: Int
        var fence: InvalidationSequence
        /// `nil` before the origin was asked.
        var version: Int?
    }

    private final class Node {
        let number: Int
        let store: any ResponseStore
        let log: any InvalidationLog
        let link: InMemorySharedLog
        var sharing: InvalidationSharing
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
            _ link: InMemorySharedLog,
            _ sharing: InvalidationSharing
        ) {
            self.number = number
            (store, log) = (pair.store, pair.log)
            self.link = link
            self.sharing = sharing
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
    private var keys: [CacheKey] = []
    private var purges: [Purge] = []
    private var places: [PurgeID: Int] = [:]
    private var report = Report()
    private var time = 0

    private init(seed: UInt64, _ make: (Int) async throws -> InvalidationLogContract.Pair) async throws {
        random = SeededRandom(seed: seed)
        let clock = clock
        engine = InMemoryLogEngine(clock: ContinuousClock()) { EngineTime(milliseconds: clock.now().milliseconds) }
        engine.setReplication(.onDemand)
        keys = try (0..<Self.keyCount).map { CacheKey(target: try TargetURI("https://a.example/\($0)")) }
        for number in 0..<Self.nodeCount {
            let pair = try await make(number)
            let link = engine.makeLog()
            nodes.append(Node(number, pair, link, try sharing(number, pair.log, link)))
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
        let store = InMemoryResponseStore()
        return .init(store: store, log: InMemoryInvalidationLog(store))
    }

    private func sharing(_ number: Int, _ log: any InvalidationLog, _ link: InMemorySharedLog) throws
        -> InvalidationSharing
    {
        guard let keys = FleetKeys(secret: [UInt8](repeating: 5, count: 32)), let namespace = FleetNamespace("shop"),
            let name = NodeName("gw-\(number)")
        else { throw Unexpected() }
        var settings = InvalidationSharing.Settings(namespace: namespace, node: name, quorum: 1)
        settings.settledTime = 24
        return InvalidationSharing(
            log: log,
            engine: link,
            sealer: LogSealer(keys: keys, namespace: namespace),
            settings: settings,
            wall: clock,
            generator: SeededRandom(seed: random.next()),
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        )
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
            for _ in 0..<3 { try await act(isCalm: isCalm) }
            try await judgeEverywhere(nodes[step % Self.nodeCount])
            if step % 200 == 199 { try await meet() }
        }
        for node in nodes {
            let counts = node.sharing.status.counts
            report.gaps += counts.gaps
            report.published += counts.published
        }
    }

    private func act(isCalm: Bool) async throws {
        let node = nodes[random.below(Self.nodeCount)]
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

    /// I3: when all nodes have told that they have what a node has published, none serves anything
    /// of before as fresh.
    private func judgeEverywhere(_ node: Node) async throws {
        guard node.isConnected, let position = await node.sharing.publishedPosition,
            let epoch = await node.sharing.presentEpoch(), let rows = try? await node.link.nodes(within: .seconds(1)),
            // A server that has lost its log does not know all nodes.
            rows.count == Self.nodeCount, (try? await node.link.epoch(within: .seconds(1)))?.number == epoch,
            NodeProgress(
                rows,
                own: node.sharing.settings.node,
                position: position,
                at: EngineTime(milliseconds: clock.now().milliseconds),
                cutOff: .serve,
                lease: .seconds(5)
            ).isEverywhere
        else { return }
        report.everywhere += 1
        for other in nodes {
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
        guard node.isConnected else { return }
        let rows = try? await node.link.nodes(within: .seconds(1))
        await perform(node) { try await $0.confirm() }
        let after = try? await node.link.nodes(within: .seconds(1))
        // It has told nothing if it was not in a position to.
        if let rows, let after, after != rows { node.durable = node.applied }
    }

    private func publish(_ node: Node) async {
        guard node.isConnected else { return }
        await perform(node) { try await $0.publish() }
    }

    /// The purges that wait at a node; none if its database took a damaged one's place just now.
    private func waiting(_ node: Node) async throws -> [SharedInvalidation] {
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
        if let version = try await fresh(node, key) {
            judge(node, key, version)
        } else if !node.fills.contains(where: { $0.key == key }) {
            node.fills.append(Fill(key: key, fence: node.store.invalidationSequence))
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
        guard let writer = try await node.store.beginWrite(draft, fence: fill.fence) else { return }
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
        case ..<84: node.link.disconnect()
        case ..<92: try restart(node)
        default: try cutPower(node)
        }
    }

    private func cutPower(_ node: Node) throws {
        if let store = node.store as? InMemoryResponseStore {
            report.powerCuts += 1
            report.takenBack += node.applied.subtracting(node.durable).count
            store.cutPower()
            node.applied = node.durable
        }
        try restart(node)
    }

    private func restart(_ node: Node) throws {
        node.fills = []
        node.isConnected = false
        node.sharing = try sharing(node.number, node.log, node.link)
        node.link.disconnect()
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
        for node in nodes { node.link.disconnect() }
        for _ in 0..<8 {
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
