import FleetTier
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisTier

/// Three real servers that are a cluster.
final class RedisCluster: Sendable {
    let servers: [RedisServer]
    private let ids: [String]

    /// A cluster that runs during a body.
    static func with(_ body: (RedisCluster) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            var servers: [RedisServer] = []
            do {
                for name in ["a", "b", "c"] { servers.append(try await start(in: "\(folder.path)/\(name)")) }
                try await body(RedisCluster(joining: servers))
            } catch {
                for server in servers { try await server.kill() }
                throw error
            }
            for server in servers { try await server.kill() }
        }
    }

    /// The same, with a replica of the primary that has a slot.
    static func withReplica(
        of slot: HashSlot,
        _ body: (_ cluster: RedisCluster, _ primary: RedisServer, _ replica: RedisServer) async throws -> Void
    ) async throws {
        try await with { cluster async throws in
            try await TemporaryFolder.with { folder in
                let replica = try await start(in: "\(folder.path)/r")
                do {
                    let primary = try await cluster.owner(of: slot)
                    try await cluster.add(replica, of: primary)
                    try await body(cluster, cluster.servers[primary], replica)
                } catch {
                    try await replica.kill()
                    throw error
                }
                try await replica.kill()
            }
        }
    }

    /// Waits until the replica has everything.
    private func add(_ replica: RedisServer, of primary: Int) async throws {
        try await meet(replica)
        let command = RedisCommand("CLUSTER", "REPLICATE", .text(ids[primary]))
        try await waitUntil { (try? await RedisLogEngine.command(replica, command)) != nil }
        while try await RedisLogEngine.command(replica, RedisCommand("INFO", "replication")).text?
            .contains("master_link_status:up") != true
        { await Task.yield() }
        // It takes over the slots that it has heard of, and no others.
        try await waitUntilComplete(replica)
    }

    private func meet(_ server: RedisServer) async throws {
        let bus = try String(contentsOfFile: "\(server.folder)/bus", encoding: .utf8)
        try await RedisLogEngine.command(
            servers[0],
            RedisCommand("CLUSTER", "MEET", "127.0.0.1", .integer(server.port ?? 0), .text(bus))
        )
    }

    /// A node with two ports that were free a moment ago: one for clients, one for other nodes.
    private static func start(in folder: String) async throws -> RedisServer {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for attempt in 1... {
            let bus = try ScriptedPeer.freePort()
            let server = RedisServer(
                in: folder,
                port: try ScriptedPeer.freePort(),
                [
                    "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", "\(bus)",
                    // No node counts as failing, however slow the machine is.
                    "--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no",
                    "--repl-diskless-sync-delay", "0",
                ]
            )
            do {
                try await server.start()
                try Data("\(bus)".utf8).write(to: URL(fileURLWithPath: "\(folder)/bus"))
                return server
            } catch is RedisServer.StartError where attempt < 20 {
                continue
            }
        }
        throw PeerError.closed
    }

    private init(joining servers: [RedisServer]) async throws {
        self.servers = servers
        var ids: [String] = []
        for (number, server) in servers.enumerated() {
            let slots = [0...5460, 5461...10_922, 10_923...16_383][number]
            try await RedisLogEngine.command(server, RedisCommand("CLUSTER", "SET-CONFIG-EPOCH", .integer(number + 1)))
            try await RedisLogEngine.command(
                server,
                RedisCommand("CLUSTER", "ADDSLOTSRANGE", .integer(slots.lowerBound), .integer(slots.upperBound))
            )
            let id = try await RedisLogEngine.command(server, RedisCommand("CLUSTER", "MYID"))
            ids.append(try #require(id.text))
        }
        self.ids = ids
        for server in servers.dropFirst() { try await meet(server) }
        for server in servers { try await waitUntilComplete(server) }
    }

    /// Until a node knows all others and their slots.
    private func waitUntilComplete(_ server: RedisServer) async throws {
        let places = servers.map(\.portEndpoint)
        while true {
            let state = try await RedisLogEngine.command(server, RedisCommand("CLUSTER", "INFO")).text ?? ""
            let slots = try await RedisLogEngine.command(server, RedisCommand("CLUSTER", "SLOTS"))
            let map = try ClusterMap(slots, from: server.portEndpoint)
            if state.contains("cluster_state:ok"), Set(map.primaries) == Set(places) { return }
            await Task.yield()
        }
    }

    /// The number of the node that has a slot, as the first node says.
    func owner(of slot: HashSlot) async throws -> Int {
        let reply = try await RedisLogEngine.command(servers[0], RedisCommand("CLUSTER", "SLOTS"))
        let owner = try ClusterMap(reply, from: servers[0].portEndpoint).owner(of: slot)
        return try #require(servers.firstIndex { $0.portEndpoint == owner })
    }

    func connector() throws -> RedisConnector {
        let places = servers.map { "\($0.portEndpoint)" }.joined(separator: ",")
        return try RedisConnector(
            RedisAddress(url: "redis+cluster://\(places)"),
            settings: .patient(.unix(path: "/")),
            password: nil,
            on: MultiThreadedEventLoopGroup.singleton
        )
    }

    // MARK: Moving

    func beginMove(_ slot: HashSlot, from: Int, to: Int) async throws {
        try await set(slot, at: to, "IMPORTING", ids[from])
        try await set(slot, at: from, "MIGRATING", ids[to])
    }

    func moveKeys(_ keys: [String], from: Int, to: Int) async throws {
        let place: [RedisCommand.Argument] = ["127.0.0.1", .integer(servers[to].port ?? 0), "", 0, 60_000, "KEYS"]
        try await RedisLogEngine.command(servers[from], RedisCommand("MIGRATE", place + keys.map { .text($0) }))
    }

    func keys(in slot: HashSlot, at node: Int) async throws -> [String] {
        let command = RedisCommand("CLUSTER", "GETKEYSINSLOT", .integer(slot.number), 1000)
        guard case .array(let keys) = try await RedisLogEngine.command(servers[node], command) else { return [] }
        return keys.compactMap(\.text)
    }

    func endMove(_ slot: HashSlot, from: Int, to: Int) async throws {
        let rest = try await keys(in: slot, at: from)
        if !rest.isEmpty { try await moveKeys(rest, from: from, to: to) }
        for node in [to, from] { try await set(slot, at: node, "NODE", ids[to]) }
    }

    private func set(_ slot: HashSlot, at node: Int, _ state: String, _ id: String) async throws {
        let command = RedisCommand("CLUSTER", "SETSLOT", .integer(slot.number), .text(state), .text(id))
        try await RedisLogEngine.command(servers[node], command)
    }

    /// Empties it, and undoes what a fault did.
    func reset() async {
        for server in servers {
            server.setStopped(false)
            _ = try? await RedisLogEngine.command(server, RedisCommand("CONFIG", "SET", "maxmemory", 0))
            _ = try? await RedisLogEngine.command(server, RedisCommand("FLUSHALL"))
        }
    }
}
