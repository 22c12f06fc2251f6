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

/// A real `redis-server`, for the contract of fleet values.
final class RedisValuesEngine: FleetValuesEngine {
    let server: RedisServer
    private let folder: TemporaryFolder
    private let tasks = Mutex<[Task<Void, Never>]>([])

    /// Starts the server.
    init(_ arguments: [String] = []) async throws {
        folder = try TemporaryFolder()
        server = RedisServer(in: folder.path, arguments)
        try await server.start()
    }

    /// A server that runs during a body.
    static func with(_ arguments: [String] = [], _ body: (RedisValuesEngine) async throws -> Void) async throws {
        let engine = try await RedisValuesEngine(arguments)
        do {
            try await body(engine)
        } catch {
            await engine.end()
            throw error
        }
        await engine.end()
    }

    var faults: Set<FleetValuesFault> { Set(FleetValuesFault.allCases) }

    func makeValues() async throws -> any FleetValues { try await makeNode() }

    /// Values whose connections are there.
    func makeNode() async throws -> RedisValues {
        let endpoint = server.endpoint
        let connector = RedisConnector(
            settings: .patient(endpoint),
            on: MultiThreadedEventLoopGroup.singleton,
            canMove: false
        ) { () throws(RedisTierError) in endpoint }
        let values = RedisValues.forTests(connector)
        let task = Task { await values.run() }
        tasks.withLock { $0.append(task) }
        while [values.node.small, values.node.large].contains(where: { $0.state != .ready }), !Task.isCancelled {
            await Task.yield()
        }
        return values
    }

    @discardableResult
    func command(_ command: RedisCommand) async throws -> RESPValue {
        try await RedisLogEngine.command(server, command)
    }

    func now() async throws -> EngineTime { try LogReplies.time(try await command(RedisCommand("TIME"))) }

    func passTime() async { await Task.yield() }

    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws {
        try await command(RedisCommand("SET", .text(name.text), .bytes(bytes), "EX", 3600))
    }

    func cause(_ fault: FleetValuesFault) async throws {
        switch fault {
        case .flush: try await command(RedisCommand("FLUSHALL"))
        case .restart:
            try await server.kill()
            try await server.start()
        case .stall: server.setStopped(true)
        case .fill:
            try await command(RedisCommand("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", 1))
        }
    }

    func end() async {
        let tasks = tasks.withLock { $0 }
        for task in tasks { task.cancel() }
        try? await server.kill()
        // Nothing keeps them from ending now.
        for task in tasks { await task.value }
    }
}

extension RedisValues {
    /// The connections to a server that is no cluster.
    var node: ValuesNode {
        guard case .server(let node) = home else { fatalError("It is a cluster.") }
        return node
    }
}

extension RedisValues {
    /// Values that try again at once, and look for a server that has moved often.
    static func forTests(_ connector: RedisConnector) -> RedisValues {
        var policy = SupervisorPolicy()
        policy.shortestPause = .milliseconds(1)
        policy.longestPause = .milliseconds(50)
        policy.probeTime = .seconds(1200)
        return RedisValues(
            connector,
            pollInterval: .milliseconds(50),
            policy: policy,
            clock: ContinuousClock(),
            random: { 0.5 }
        )
    }
}

/// A value as the put script reads it: with the time by which it is ordered.
enum SampleValue {
    static func value(at milliseconds: Int64) -> ByteBuffer {
        var value = ByteBuffer(string: "HFs1")
        value.writeBytes([1, 0, 7, 0])
        value.writeInteger(UInt64(milliseconds))
        value.writeRepeatingByte(9, count: 40)
        return value
    }
}

extension RESPValue {
    /// The texts of an array, or of a map's values.
    var words: [String] {
        switch self {
        case .array(let parts): parts.compactMap(\.text)
        case .map(let entries): entries.compactMap(\.value.text)
        default: []
        }
    }

    /// The text of an array's first element.
    var firstWord: String? {
        guard case .array(let parts) = self else { return nil }
        return parts.first?.text
    }
}
