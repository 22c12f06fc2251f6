import FleetTesting
import FleetTier
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import RedisTier

/// A cluster for the contract of a fleet log. Rules share its servers.
final class ClusterLogEngine: FleetLogEngine {
    private let cluster: RedisCluster
    private let owner: RedisServer
    private let tasks = Mutex<[Task<Void, Never>]>([])

    init(_ cluster: RedisCluster) async throws {
        self.cluster = cluster
        owner = cluster.servers[try await cluster.owner(of: HashSlot(of: "{log}"))]
    }

    var faults: Set<FleetLogFault> { [.flush, .restart, .stall, .evictLog, .evictNames] }

    func makeLog() async throws -> any FleetLog { try await makeNode() }

    func makeNode() async throws -> RedisLog {
        let log = RedisLog.forTests(try cluster.connector(), namespace: RedisLogEngine.namespace)
        let task = Task { await log.run() }
        tasks.withLock { $0.append(task) }
        await log.waitUntilReady()
        return log
    }

    func passTime() async { await Task.yield() }

    func cause(_ fault: FleetLogFault) async throws {
        switch fault {
        case .flush: try await RedisLogEngine.command(owner, RedisCommand("FLUSHALL"))
        case .restart:
            try await RedisLogEngine.command(owner, RedisCommand("SAVE"))
            try await owner.kill()
            try await owner.start()
        case .stall: owner.setStopped(true)
        case .evictLog: try await RedisLogEngine.command(owner, RedisCommand("DEL", "hf1:test:{log}:s"))
        case .evictNames:
            let names = try await RedisLogEngine.command(owner, RedisCommand("KEYS", "hf1:*:u:*"))
            guard case .array(let keys) = names else { return }
            for key in keys { try await RedisLogEngine.command(owner, RedisCommand("DEL", .text(key.text ?? ""))) }
        case .holdReplication, .failOver, .split: Issue.record("There is no replica.")
        }
    }

    func end() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        await cluster.reset()
        for task in tasks { await task.value }
    }
}

/// A cluster for the contract of fleet values. Rules share its servers.
final class ClusterValuesEngine: FleetValuesEngine {
    private let cluster: RedisCluster
    private let owner: RedisServer
    private let tasks = Mutex<[Task<Void, Never>]>([])

    init(_ cluster: RedisCluster) async throws {
        self.cluster = cluster
        owner = cluster.servers[try await cluster.owner(of: HashSlot(of: "{contract}"))]
    }

    var faults: Set<FleetValuesFault> { Set(FleetValuesFault.allCases) }

    func makeValues() async throws -> any FleetValues { try await makeNode() }

    func makeNode() async throws -> RedisValues {
        let values = RedisValues.forTests(try cluster.connector())
        let task = Task { await values.run() }
        tasks.withLock { $0.append(task) }
        while values.state != .ready, !Task.isCancelled { await Task.yield() }
        return values
    }

    func now() async throws -> EngineTime {
        try LogReplies.time(try await RedisLogEngine.command(owner, RedisCommand("TIME")))
    }

    func passTime() async { await Task.yield() }

    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws {
        try await RedisLogEngine.command(owner, RedisCommand("SET", .text(name.text), .bytes(bytes), "EX", 3600))
    }

    func cause(_ fault: FleetValuesFault) async throws {
        switch fault {
        case .flush: try await RedisLogEngine.command(owner, RedisCommand("FLUSHALL"))
        case .restart:
            try await owner.kill()
            try await owner.start()
        case .stall: owner.setStopped(true)
        case .fill:
            let command = RedisCommand("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", 1)
            try await RedisLogEngine.command(owner, command)
        }
    }

    func end() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        await cluster.reset()
        for task in tasks { await task.value }
    }
}
