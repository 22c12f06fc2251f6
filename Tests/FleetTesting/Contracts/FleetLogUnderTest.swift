import FleetTier
import HTTPCache
import HoldfastTesting

/// An engine under test, with the operations that most rules need.
struct FleetLogUnderTest: Sendable {
    let engine: any FleetLogEngine
    let findings: Findings
    let seed: UInt64
    /// The deadline for each call. It is longer than any call takes.
    let limit: Duration

    static let node = NodeName("gw-1")

    func random(_ salt: UInt64) -> SeededRandom { SeededRandom(seed: seed &* 31 &+ salt) }

    /// Returns a purge ID derived from a number.
    func purge(_ number: Int) -> PurgeID {
        var random = random(UInt64(number) &+ 1_000_000)
        return PurgeID(using: &random)
    }

    func bytes(_ number: Int, length: Int = 60) -> [UInt8] {
        var random = random(UInt64(number) &+ 2_000_000)
        return (0..<length).map { _ in random.next() }
    }

    func entry(_ number: Int) -> NewEntry { NewEntry(purge: purge(number), sealed: bytes(number)) }

    /// Returns a node once the engine is reachable.
    func node() async throws -> FleetLogNode {
        FleetLogNode(log: try await engine.makeLog(), tested: self)
    }

    /// Returns a node that has begun the first epoch.
    func begunNode() async throws -> (FleetLogNode, LogEpoch) {
        let node = try await node()
        return (node, try await node.begin())
    }

    /// Returns an identity, which is the same for the same name.
    func identity(_ name: String) -> NodeIdentity {
        var random = SeededRandom(seed: name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
        return NodeIdentity(store: PurgeID(using: &random), process: random.next())
    }

    func report(_ name: String, _ applied: LogPosition = .zero, unpublished: UInt64 = 0) throws -> NodeReport {
        NodeReport(
            identity: identity(name),
            name: try findings.unwrap(NodeName(name), "'\(name)' is not a node name"),
            applied: applied,
            unpublished: unpublished,
            version: "1.0"
        )
    }

    /// Returns the error of a call; `nil` if the call succeeds.
    func error(_ call: () async throws(FleetLogError) -> Void) async -> FleetLogError? {
        do throws(FleetLogError) {
            try await call()
            return nil
        } catch {
            return error
        }
    }
}

/// A node's log. It retries calls while the engine is unreachable, for example after a fault.
struct FleetLogNode: Sendable {
    let log: any FleetLog
    let tested: FleetLogUnderTest

    private var limit: Duration { tested.limit }

    func reach<Value>(_ call: () async throws(FleetLogError) -> Value) async throws -> Value {
        while true {
            do throws(FleetLogError) {
                return try await call()
            } catch {
                guard error == .unreachable, !Task.isCancelled else { throw error }
                await Task.yield()
            }
        }
    }

    func begin(knowing highest: UInt64 = 0, salt: UInt64 = 0) async throws -> LogEpoch {
        var random = tested.random(salt &+ 3_000_000)
        return try await reach { () async throws(FleetLogError) in
            try await log.begin(knowing: highest, using: &random, within: limit)
        }
    }

    func epoch() async throws -> LogEpoch? {
        try await reach { () async throws(FleetLogError) in try await log.epoch(within: limit) }
    }

    func time() async throws -> EngineTime {
        try await reach { () async throws(FleetLogError) in try await log.time(within: limit) }
    }

    @discardableResult
    func append(_ number: Int, in epoch: LogEpoch) async throws -> LogPosition {
        try await reach { () async throws(FleetLogError) in
            try await log.append(
                tested.bytes(number),
                purge: tested.purge(number),
                in: epoch.number,
                within: limit
            )
        }
    }

    func append(_ numbers: [Int], in epoch: LogEpoch) async throws -> [LogPosition] {
        let entries = numbers.map { tested.entry($0) }
        return try await reach { () async throws(FleetLogError) in
            try await log.append(entries, in: epoch.number, within: limit)
        }
    }

    /// Returns the error of an attempt to append.
    func rejection(_ number: Int, in epoch: UInt64) async throws -> FleetLogError? {
        while true {
            let error = await tested.error { () async throws(FleetLogError) in
                _ = try await log.append(tested.bytes(number), purge: tested.purge(number), in: epoch, within: limit)
            }
            guard error == .unreachable, !Task.isCancelled else { return error }
            await Task.yield()
        }
    }

    func follow(
        after cursor: LogPosition = .zero,
        count: Int = LogBatch.mostEntries,
        wait: Duration = .zero
    ) async throws -> LogBatch {
        try await reach { () async throws(FleetLogError) in
            try await log.follow(after: cursor, count: count, wait: wait, within: limit)
        }
    }

    /// Returns all positions of the log.
    func positions() async throws -> [LogPosition] { try await follow().entries.map(\.position) }

    func entry(at position: LogPosition) async throws -> LogEntry? {
        try await reach { () async throws(FleetLogError) in try await log.entry(at: position, within: limit) }
    }

    func bounds() async throws -> LogBounds? {
        try await reach { () async throws(FleetLogError) in try await log.bounds(within: limit) }
    }

    func trim(_ retention: LogRetention) async throws {
        try await reach { () async throws(FleetLogError) in try await log.trim(retention, within: limit) }
    }

    func confirm(_ replicas: Int, in epoch: LogEpoch, wait: Duration) async throws -> Int {
        try await reach { () async throws(FleetLogError) in
            try await log.confirm(replicas: replicas, in: epoch.number, wait: wait, within: limit)
        }
    }

    func announce(_ report: NodeReport, in epoch: LogEpoch) async throws {
        try await reach { () async throws(FleetLogError) in
            try await log.announce(report, in: epoch.number, within: limit)
        }
    }

    func amend(_ changes: [NodeRowChange], in epoch: LogEpoch) async throws {
        try await reach { () async throws(FleetLogError) in
            try await log.amend(changes, in: epoch.number, within: limit)
        }
    }

    func nodes() async throws -> [NodeRow] {
        try await reach { () async throws(FleetLogError) in try await log.nodes(within: limit) }
    }

    /// Waits until the engine's clock is past an instant.
    func wait(past time: EngineTime) async throws {
        while try await self.time() <= time { await tested.engine.passTime() }
    }
}
