import FleetTesting
import FleetTier
import Foundation
import HoldfastTesting
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import RedisTier

/// A real `redis-server` for the contract, optionally with a replica that takes over by hand.
final class RedisLogEngine: FleetLogEngine {
    private struct State {
        var primary: RedisServer
        var replica: RedisServer?
        var tasks: [Task<Void, Never>] = []
    }

    static let namespace = "test"
    private let folder: TemporaryFolder
    private let state: Mutex<State>
    private let hasReplica: Bool

    /// A primary and a replica that run during a body.
    static func withReplica(_ body: (RedisLogEngine) async throws -> Void) async throws {
        let engine = try await RedisLogEngine(withReplica: true)
        do {
            try await body(engine)
        } catch {
            await engine.end()
            throw error
        }
        await engine.end()
    }

    /// Starts the servers.
    init(withReplica: Bool) async throws {
        folder = try TemporaryFolder()
        hasReplica = withReplica
        let primary = try await Self.server(in: folder.path, "a")
        state = Mutex(State(primary: primary, replica: nil))
        guard withReplica else { return }
        let replica = try await Self.server(in: folder.path, "b")
        state.withLock { $0.replica = replica }
        try await Self.follow(replica, primary)
    }

    static func server(in folder: String, _ name: String) async throws -> RedisServer {
        let path = "\(folder)/\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        return try await RedisServer.startOnPort(in: path, ["--repl-diskless-sync-delay", "0"])
    }

    /// Makes a server a replica, and waits until it has everything.
    static func follow(_ replica: RedisServer, _ primary: RedisServer) async throws {
        let port = try #require(primary.port)
        try await Self.command(replica, RedisCommand("REPLICAOF", "127.0.0.1", .integer(port)))
        while try await Self.command(replica, RedisCommand("INFO", "replication")).text?
            .contains("master_link_status:up") != true
        { await Task.yield() }
    }

    @discardableResult
    static func command(_ server: RedisServer, _ command: RedisCommand) async throws -> RESPValue {
        try await Self.command(server.endpoint, command)
    }

    @discardableResult
    static func command(_ endpoint: RedisEndpoint, _ command: RedisCommand) async throws -> RESPValue {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (connection, _) = try await RedisConnection.connect(.patient(endpoint), on: loop)
        defer { connection.close() }
        let reply = try await connection.execute(command, within: .patient)
        if case .error(let error) = reply { throw PeerError.rejected(error.text) }
        return reply
    }

    var primary: RedisServer { state.withLock { $0.primary } }
    var replica: RedisServer? { state.withLock { $0.replica } }

    // MARK: The engine

    var faults: Set<FleetLogFault> {
        var faults: Set<FleetLogFault> = [.flush, .restart, .stall, .evictLog, .evictNames]
        if hasReplica { faults.formUnion([.holdReplication, .failOver, .split]) }
        return faults
    }

    func makeLog() async throws -> any FleetLog {
        let log = RedisLog.forTests(namespace: Self.namespace) { () throws(RedisTierError) in
            self.state.withLock { $0.primary.endpoint }
        }
        let task = Task { await log.run() }
        state.withLock { $0.tasks.append(task) }
        await log.waitUntilReady()
        return log
    }

    func passTime() async { await Task.yield() }

    func cause(_ fault: FleetLogFault) async throws {
        let (primary, replica) = state.withLock { ($0.primary, $0.replica) }
        switch fault {
        case .flush: try await Self.command(primary, RedisCommand("FLUSHALL"))
        case .restart:
            try await Self.command(primary, RedisCommand("SAVE"))
            try await primary.kill()
            try await primary.start()
        case .stall: primary.setStopped(true)
        case .evictLog: try await Self.command(primary, RedisCommand("DEL", .text("hf1:\(Self.namespace):{log}:s")))
        case .evictNames:
            let names = try await Self.command(primary, RedisCommand("KEYS", "hf1:*:u:*"))
            guard case .array(let keys) = names else { return }
            for key in keys { try await Self.command(primary, RedisCommand("DEL", .text(key.text ?? ""))) }
        case .holdReplication:
            try await Self.command(try #require(replica), RedisCommand("REPLICAOF", "NO", "ONE"))
        case .failOver:
            promote()
            try await primary.kill()
        case .split: promote()
        }
    }

    /// Sends new connections to the replica. It is one no longer since its link was cut.
    private func promote() {
        state.withLock { state in
            guard let replica = state.replica else { return }
            (state.primary, state.replica) = (replica, state.primary)
        }
    }

    func end() async {
        let (tasks, servers) = state.withLock { ($0.tasks, [$0.primary, $0.replica].compactMap { $0 }) }
        for task in tasks { task.cancel() }
        for server in servers { try? await server.kill() }
        // Nothing keeps them from ending now.
        for task in tasks { await task.value }
    }
}

extension RedisLog {
    /// A log that comes back quickly, and for which no machine is too slow.
    static func forTests(
        namespace: String,
        canMove: Bool = false,
        findPrimary: @escaping @Sendable () async throws(RedisTierError) -> RedisEndpoint
    ) -> RedisLog {
        let connector = RedisConnector(
            settings: .patient(.unix(path: "/")),
            on: MultiThreadedEventLoopGroup.singleton,
            canMove: canMove,
            findPrimary: findPrimary
        )
        return forTests(connector, namespace: namespace)
    }

    static func forTests(_ connector: RedisConnector, namespace: String) -> RedisLog {
        guard let namespace = FleetNamespace(namespace) else { fatalError("'\(namespace)' is no namespace") }
        var policy = SupervisorPolicy()
        policy.shortestPause = .milliseconds(1)
        policy.longestPause = .milliseconds(50)
        policy.probeTime = .seconds(1200)
        return RedisLog(
            connector,
            namespace: namespace,
            pollInterval: .milliseconds(50),
            policy: policy,
            clock: ContinuousClock(),
            random: { 0.5 }
        )
    }

    /// Waits until all connections are there.
    func waitUntilReady() async {
        while [commands, reader, confirmer].contains(where: { $0.state != .ready }), !Task.isCancelled {
            await Task.yield()
        }
    }
}

/// Repeats a call while the server cannot be reached, as nodes do. A connection may end at any time
/// while a primary or a slot moves.
func reachable<Result>(_ call: () async throws -> Result) async throws -> Result {
    while true {
        do { return try await call() } catch FleetLogError.unreachable {}
        try Task.checkCancellation()
        await Task.yield()
    }
}
