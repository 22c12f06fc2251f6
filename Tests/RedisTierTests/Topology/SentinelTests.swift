import FleetTier
import Foundation
import HTTPCache
import HoldfastTesting
import NIOPosix
import TestSupport
import Testing

@testable import RedisTier

/// Two real servers that three real sentinels watch.
@Suite(.timeLimit(.minutes(20))) struct SentinelTests {
    private let limit = Duration.seconds(1200)

    private func withSentinels(
        _ body: (_ sentinels: [RedisServer], _ primary: RedisServer, _ replica: RedisServer) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            var servers: [RedisServer] = []
            do {
                for name in ["a", "b"] { servers.append(try await RedisLogEngine.server(in: folder.path, name)) }
                try await RedisLogEngine.follow(servers[1], servers[0])
                for number in 1...3 {
                    let sentinel = try await RedisServer.startSentinel(
                        in: "\(folder.path)/s\(number)",
                        watching: servers[0].port ?? 0,
                        quorum: 2
                    )
                    servers.append(sentinel)
                }
                try await body(Array(servers[2...]), servers[0], servers[1])
            } catch {
                for server in servers { try await server.kill() }
                throw error
            }
            for server in servers { try await server.kill() }
        }
    }

    private func connector(_ sentinels: [RedisServer], _ name: String = "main") throws -> RedisConnector {
        let ports = sentinels.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
        return try RedisConnector(
            RedisAddress(url: "redis+sentinel://\(name)@\(ports)"),
            settings: .patient(.unix(path: "/")),
            password: nil,
            on: MultiThreadedEventLoopGroup.singleton
        )
    }

    /// Makes the replica the primary. A sentinel rejects or aborts this while it has no recent
    /// information about the replica.
    private func failOver(_ sentinel: RedisServer, to replica: RedisServer) async throws {
        while true {
            try Task.checkCancellation()
            let state = try await RedisLogEngine.command(
                sentinel.portEndpoint,
                RedisCommand("SENTINEL", "MASTER", "main")
            )
            // A server that changes its role closes connections.
            let role = try? await RedisLogEngine.command(replica, RedisCommand("ROLE"))
            if role?.firstWord == "master" { return }
            if !state.words.contains(where: { $0.contains("failover_in_progress") }) {
                _ = try? await RedisLogEngine.command(
                    sentinel.portEndpoint,
                    RedisCommand("SENTINEL", "FAILOVER", "main")
                )
            }
            await Task.yield()
        }
    }

    /// The log follows the primary, although the old one lives on.
    @Test func logFollowsAFailover() async throws {
        try await withSentinels { sentinels, primary, replica async throws in
            let log = RedisLog.forTests(try connector(sentinels), namespace: "test")
            let task = Task { await log.run() }
            await log.waitUntilReady()
            var random = SeededRandom(seed: 1)
            let purge = PurgeID(using: &random)
            let epoch = try await log.begin(knowing: 0, using: &random, within: limit)
            let place = try await log.append([1], purge: purge, in: epoch.number, within: limit)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
            try await failOver(sentinels[0], to: replica)
            // Until the log is at the other server.
            await #expect(throws: FleetLogError.wrongEpoch) {
                while !Task.isCancelled {
                    _ = try await reachable {
                        try await log.append([1], purge: purge, in: epoch.number, within: limit)
                    }
                }
            }
            _ = try await reachable { try await log.begin(knowing: epoch.number, using: &random, within: limit) }
            let role = try await RedisLogEngine.command(replica, RedisCommand("ROLE"))
            #expect(role.firstWord == "master")
            let length = try await RedisLogEngine.command(replica, RedisCommand("XLEN", "hf1:test:{log}:s"))
            #expect(length == .integer(3) && place.number == 2)
            task.cancel()
            await task.value
        }
    }

    /// Values and leases are at the new primary, although the old one lives on.
    @Test func valuesFollowAFailover() async throws {
        try await withSentinels { sentinels, primary, replica async throws in
            let values = RedisValues.forTests(try connector(sentinels))
            let task = Task { await values.run() }
            defer { task.cancel() }
            let name = ValueName("hf1:test:{key}:e")
            let value = SampleValue.value(at: 1)
            try await waitUntil {
                (try? await values.put(value, as: name, for: limit, releasing: nil, within: limit)) == true
            }
            try await failOver(sentinels[0], to: replica)
            // Until what is put is at the new primary.
            let later = ValueName("hf1:test:{later}:e")
            try await waitUntil {
                _ = try? await values.put(value, as: later, for: limit, releasing: nil, within: limit)
                let exists = try? await RedisLogEngine.command(replica, RedisCommand("EXISTS", .text(later.text)))
                return exists == .integer(1)
            }
            try await waitUntil { (try? await values.values([later], within: limit)[0]) == value }
            task.cancel()
            await task.value
        }
    }

    @Test func oneSentinelIsEnough() async throws {
        try await withSentinels { sentinels, primary, _ async throws in
            try await sentinels[0].kill()
            try await sentinels[2].kill()
            let connector = try connector(sentinels)
            try await connector.connect().close()
            #expect(await !connector.hasMoved())
            for name in ["other", "main"] {
                if name == "main" { try await sentinels[1].kill() }
                let error = await #expect(throws: RedisTierError.self) {
                    try await self.connector(sentinels, name).connect()
                }
                #expect(error?.code == .unreachable)
            }
        }
    }
}
