import FleetTesting
import FleetTier
import HTTPCache
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import RedisTier

/// A real cluster of three servers.
@Suite(.timeLimit(.minutes(20))) struct RealClusterTests {
    private let seed: UInt64 = 1
    private let limit = Duration.seconds(1200)

    @Test func logKeepsTheContract() async throws {
        try await RedisCluster.with { cluster async throws in
            let contract = FleetLogContract(seed: seed, timeout: .seconds(600)) { try await ClusterLogEngine(cluster) }
            let (found, tested) = await contract.run()
            #expect(found == [], "seed \(seed)")
            #expect(tested == contract.rules.count - contract.rules(needing: .holdReplication).count)
        }
    }

    @Test func valuesKeepTheContract() async throws {
        try await RedisCluster.with { cluster async throws in
            let contract = FleetValuesContract(seed: seed, timeout: .seconds(600)) {
                try await ClusterValuesEngine(cluster)
            }
            let (found, tested) = await contract.run()
            #expect(found == [], "seed \(seed)")
            #expect(tested == contract.rules.count)
        }
    }

    /// Its nodes say the same slots, and values of all of them are put and found.
    @Test func valuesAreOnAllNodes() async throws {
        try await RedisCluster.with { cluster async throws in
            let engine = try await ClusterValuesEngine(cluster)
            let values = try await engine.makeNode()
            let names = (0..<30).map { ValueName("hf1:test:{key\($0)}:e") }
            for (number, name) in names.enumerated() {
                let slot = try await RedisLogEngine.command(
                    cluster.servers[0],
                    RedisCommand("CLUSTER", "KEYSLOT", .text(name.text))
                )
                #expect(slot == .integer(Int64(HashSlot(of: name.text).number)))
                #expect(try await values.put(value(number), as: name, for: limit, releasing: nil, within: limit))
            }
            for (number, name) in names.enumerated() {
                #expect(try await values.values([name], within: limit) == [value(number)])
            }
            guard case .cluster(let nodes) = values.home else { return _ = Issue.record("no cluster") }
            #expect(nodes.places == Set(cluster.servers.map(\.portEndpoint)))
            await engine.end()
        }
    }

    private func value(_ number: Int) -> ByteBuffer {
        var value = ByteBuffer(string: "HFs1")
        value.writeBytes([1, 0, 7, 0])
        value.writeInteger(UInt64(1))
        value.writeRepeatingByte(UInt8(truncatingIfNeeded: number), count: 40)
        return value
    }

    @Test func slotOfValuesMovesWhileCallsRun() async throws {
        try await RedisCluster.with { cluster async throws in
            let engine = try await ClusterValuesEngine(cluster)
            let values = try await engine.makeNode()
            let slot = HashSlot(of: "{moving}")
            let from = try await cluster.owner(of: slot)
            let to = (from + 1) % 3
            let names = (0..<8).map { ValueName("hf1:test:{moving}:\($0)") }
            for (number, name) in names.enumerated() {
                _ = try await values.put(value(number), as: name, for: limit, releasing: nil, within: limit)
            }
            // Readers of single values are served all the time, and see nothing else.
            let (rounds, hasEnded) = (Observed(0), Observed(false))
            let reader = Task { [limit] in
                defer { hasEnded.change { $0 = true } }
                while !Task.isCancelled {
                    for (number, name) in names.enumerated() where !Task.isCancelled {
                        let found = try await values.values([name], within: limit)
                        guard found == [value(number)] else { throw PeerError.rejected("\(number)") }
                    }
                    rounds.change { $0 += 1 }
                }
            }
            func round() async {
                let count = rounds.value
                while rounds.value < count + 2, !hasEnded.value, !Task.isCancelled { await Task.yield() }
            }
            await round()
            try await cluster.beginMove(slot, from: from, to: to)
            await round()
            try await cluster.moveKeys(names[..<4].map(\.text), from: from, to: to)
            await round()
            // Of both sides: it is there again when the slot has moved.
            await #expect(throws: FleetLogError.unreachable) { try await values.values(names, within: limit) }
            // A name that is not there is put where the slot goes.
            let later = ValueName("hf1:test:{moving}:later")
            #expect(try await values.put(value(9), as: later, for: limit, releasing: nil, within: limit))
            #expect(try await cluster.keys(in: slot, at: to).contains(later.text))
            try await cluster.endMove(slot, from: from, to: to)
            await round()
            #expect(try await values.values(names + [later], within: limit) == (0..<8).map(value) + [value(9)])
            reader.cancel()
            do throws(FleetLogError) {
                try await cancelled(reader)
            } catch {
                #expect(error == .cancelled)
            }
            await engine.end()
        }
    }

    private func cancelled(_ task: Task<Void, any Error>) async throws(FleetLogError) {
        switch await task.result {
        case .success: return
        case .failure(let error as FleetLogError): throw error
        case .failure(let error): Issue.record("\(error)")
        }
    }

    /// The replica of the log's primary takes over, and the primary ends.
    @Test func failoverOfTheLogBeginsAnEpochThatInheritsAll() async throws {
        try await RedisCluster.withReplica(of: HashSlot(of: "{log}")) { cluster, primary, replica async throws in
            let engines = (try await ClusterLogEngine(cluster), try await ClusterValuesEngine(cluster))
            let log = try await engines.0.makeNode()
            let values = try await engines.1.makeNode()
            var random = SeededRandom(seed: 1)
            let purge = PurgeID(using: &random)
            // In the same slot.
            let name = ValueName("hf1:test:{log}:e")
            _ = try await values.put(value(1), as: name, for: limit, releasing: nil, within: limit)
            let epoch = try await log.begin(knowing: 0, using: &random, within: limit)
            let last = try await log.append([1], purge: purge, in: epoch.number, within: limit)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
            try await primary.kill()
            try await RedisLogEngine.command(replica, RedisCommand("CLUSTER", "FAILOVER", "TAKEOVER"))
            let later = try await reachable {
                try await log.begin(knowing: epoch.number, using: &random, within: limit)
            }
            #expect(later.number > epoch.number)
            let batch = try await reachable {
                try await log.follow(after: last, count: 10, wait: .zero, within: limit)
            }
            #expect(batch.entries.map(\.content) == [.marker(EpochMarker(name: later.name, inherited: last))])
            #expect(try await reachable { try await values.values([name], within: limit) } == [value(1)])
            guard case .cluster(let nodes) = values.home else { return _ = Issue.record("no cluster") }
            #expect(nodes.places.contains(replica.portEndpoint))
            await engines.0.end()
            await engines.1.end()
        }
    }

    @Test func movedLogBeginsAnEpochThatInheritsAll() async throws {
        try await RedisCluster.with { cluster async throws in
            let engine = try await ClusterLogEngine(cluster)
            let log = try await engine.makeNode()
            let slot = HashSlot(of: "{log}")
            let from = try await cluster.owner(of: slot)
            let to = (from + 1) % 3
            var random = SeededRandom(seed: 1)
            let purges = [PurgeID(using: &random), PurgeID(using: &random)]
            let epoch = try await log.begin(knowing: 0, using: &random, within: limit)
            let last = try await log.append([1], purge: purges[0], in: epoch.number, within: limit)
            try await cluster.beginMove(slot, from: from, to: to)
            // Between two nodes nothing is written.
            try await cluster.moveKeys(["hf1:test:{log}:s"], from: from, to: to)
            await #expect(throws: FleetLogError.unreachable) {
                try await log.append([2], purge: purges[1], in: epoch.number, within: limit)
            }
            await #expect(throws: FleetLogError.unreachable) {
                try await log.begin(knowing: epoch.number, using: &random, within: limit)
            }
            try await cluster.endMove(slot, from: from, to: to)
            // Another server than that of the epoch.
            await #expect(throws: FleetLogError.wrongEpoch) {
                try await reachable { try await log.append([2], purge: purges[1], in: epoch.number, within: limit) }
            }
            let next = try await reachable {
                try await log.begin(knowing: epoch.number, using: &random, within: limit)
            }
            #expect(next.number > epoch.number)
            let batch = try await reachable {
                try await log.follow(after: last, count: 10, wait: .zero, within: limit)
            }
            #expect(batch.entries.map(\.content) == [.marker(EpochMarker(name: next.name, inherited: last))])
            // The purge has kept its place.
            let place = try await reachable {
                try await log.append([1], purge: purges[0], in: next.number, within: limit)
            }
            #expect(place == last)
            await engine.end()
        }
    }
}
