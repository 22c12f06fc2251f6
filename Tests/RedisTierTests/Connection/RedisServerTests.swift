import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import RedisTier

/// The client against a real `redis-server`.
@Suite(.timeLimit(.minutes(20))) struct RedisServerTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    private func connect(
        _ endpoint: RedisEndpoint,
        _ change: (inout RedisConnectionSettings) -> Void = { _ in }
    ) async throws(RedisTierError) -> RedisConnection {
        var settings = RedisConnectionSettings.patient(endpoint)
        change(&settings)
        let (connection, greeting) = try await RedisConnection.connect(settings, on: loop)
        #expect(greeting.protocolVersion == 3 && greeting.role == "master")
        #expect(greeting.version.map { $0.split(separator: ".").first.flatMap { Int($0) } ?? 0 >= 7 } == true)
        return connection
    }

    private func run(
        _ connection: RedisConnection,
        _ name: String,
        _ arguments: RedisCommand.Argument...
    ) async throws(RedisTierError) -> RESPValue {
        try await connection.execute(RedisCommand(name, arguments), within: .patient)
    }

    @Test func valueOfOneKibibyteComesBack() async throws {
        try await RedisServer.with { server async throws in
            let connection = try await connect(server.endpoint) { $0.clientName = "gw-1" }
            let value = ByteBuffer(bytes: (0..<1024).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            #expect(try await run(connection, "SET", "k", .bytes(value), "PX", 3_600_000) == .simple("OK"))
            #expect(try await run(connection, "GET", "k") == .bulkString(value))
            #expect(try await run(connection, "GET", "none") == .null)
            #expect(try await run(connection, "CLIENT", "GETNAME") == .bulk("gw-1"))
            // Types of RESP3.
            #expect(try await run(connection, "HSET", "h", "f", "v") == .integer(1))
            #expect(try await run(connection, "HGETALL", "h") == .map([RESPEntry(key: .bulk("f"), value: .bulk("v"))]))
            #expect(try await run(connection, "ZADD", "z", "1.5", "m") == .integer(1))
            #expect(try await run(connection, "ZSCORE", "z", "m") == .double(1.5))
            #expect(try await run(connection, "SADD", "s", "m") == .integer(1))
            #expect(try await run(connection, "SMEMBERS", "s") == .set([.bulk("m")]))
            guard case .error(let error) = try await run(connection, "INCR", "h") else {
                Issue.record("no error")
                return
            }
            #expect(error.code == "WRONGTYPE")
            #expect(try await run(connection, "PING") == .simple("PONG"))
            connection.close()
        }
    }

    /// Redis has a sample of each type of RESP3.
    @Test func everyTypeIsRead() async throws {
        try await RedisServer.with(["--enable-debug-command", "yes"]) { server async throws in
            let pushes = Observed<[[RESPValue]]>([])
            let connection = try await connect(server.endpoint) {
                $0.onPush = { elements in pushes.change { $0.append(elements) } }
            }
            let samples: [(String, RESPValue)] = [
                ("string", .bulk("Hello World")), ("integer", .integer(12345)), ("double", .double(3.141)),
                ("null", .null), ("array", .array([.integer(0), .integer(1), .integer(2)])),
                ("set", .set([.integer(0), .integer(1), .integer(2)])),
                (
                    "map",
                    .map((0..<3).map { RESPEntry(key: .integer($0), value: .boolean($0 == 1)) })
                ),
                ("bignum", .big("1234567999999999999999999999999999999")), ("true", .boolean(true)),
                ("false", .boolean(false)),
                ("verbatim", .verbatimString(format: "txt", ByteBuffer(string: "This is a verbatim\nstring"))),
                ("attrib", .bulk("Some real reply following the attribute")),
                ("push", .bulk("Some real reply following the push reply")),
            ]
            for (type, value) in samples {
                #expect(try await run(connection, "DEBUG", "PROTOCOL", .text(type)) == value, "\(type)")
            }
            #expect(pushes.value == [[.bulk("server-cpu-usage"), .integer(42)]])
            connection.close()
        }
    }

    /// 128 chunks of 64 KiB, eight asked ahead.
    @Test func eightMebibytesComeBackInChunks() async throws {
        try await RedisServer.with { server async throws in
            let connection = try await connect(server.endpoint)
            let body = (0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) }
            let size = 64 << 10
            try await inEights(body.count / size) { index async throws in
                let chunk = ByteBuffer(bytes: body[index * size..<(index + 1) * size])
                #expect(try await run(connection, "SET", .text("c:\(index)"), .bytes(chunk)) == .simple("OK"))
            }
            let read = Observed([Int: ByteBuffer]())
            try await inEights(body.count / size) { index async throws in
                let bytes = try await run(connection, "GET", .text("c:\(index)")).bytes
                read.change { $0[index] = bytes }
            }
            let whole = (0..<body.count / size).flatMap {
                Array(read.value[$0, default: ByteBuffer()].readableBytesView)
            }
            #expect(whole == body)
            #expect(connection.inFlight == (0, 0))
            connection.close()
        }
    }

    private func inEights(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 8 { try await group.next() }
                group.addTask { try await body(index) }
            }
            try await group.waitForAll()
        }
    }

    @Test func blockedReaderGetsWhatIsAdded() async throws {
        try await RedisServer.with { server async throws in
            let reader = try await connect(server.endpoint)
            let writer = try await connect(server.endpoint)
            async let read = run(reader, "XREAD", "BLOCK", 0, "STREAMS", "log", "$")
            // The reader has to wait before anything is added.
            while true {
                let clients = try await run(writer, "INFO", "clients").text ?? ""
                if clients.contains("blocked_clients:1") { break }
            }
            let id = try await run(writer, "XADD", "log", "*", "purge", "all")
            let entry = RESPValue.array([.array([id, .array([.bulk("purge"), .bulk("all")])])])
            #expect(try await read == .map([RESPEntry(key: .bulk("log"), value: entry)]))
            reader.close()
            writer.close()
        }
    }

    @Test func userOfTheAccessControlListIsAuthenticated() async throws {
        let list = [
            "--user", "default", "off", "--user", "alice", "on", ">correct horse", "~hf1:*", "+@all", "-flushall",
        ]
        try await RedisServer.with(list) { server async throws in
            let connection = try await connect(server.endpoint) {
                $0.credentials = RedisCredentials(user: "alice", password: "correct horse")
                $0.clientName = "gw-1"
            }
            #expect(try await run(connection, "ACL", "WHOAMI") == .bulk("alice"))
            #expect(try await run(connection, "SET", "hf1:k", "v") == .simple("OK"))
            for command in [RedisCommand("SET", "other", "v"), RedisCommand("FLUSHALL")] {
                guard case .error(let error) = try await connection.execute(command, within: .patient) else {
                    Issue.record("\(command) was allowed")
                    continue
                }
                #expect(error.code == "NOPERM")
            }
            connection.close()
            for credentials in [RedisCredentials(user: "alice", password: "wrong"), nil] {
                let error = await #expect(throws: RedisTierError.self) {
                    try await connect(server.endpoint) { $0.credentials = credentials }
                }
                #expect(error?.code == .rejected)
                #expect(error?.message.contains("wrong") == false)
            }
        }
    }

    @Test func connectionIsMadeAgainAfterAKill() async throws {
        try await RedisServer.with { server async throws in
            let states = Observed<[SupervisorState]>([])
            let settings = RedisConnectionSettings.patient(server.endpoint)
            var policy = SupervisorPolicy()
            policy.probeTime = .seconds(1200)
            let supervisor = ConnectionSupervisor(
                policy: policy,
                clock: ContinuousClock(),
                random: { 0.5 },
                onChange: { state in states.change { $0.append(state) } }
            ) { [loop] () throws(RedisTierError) in
                try await RedisConnection.connect(settings, on: loop).0
            }
            let task = Task { await supervisor.run() }
            await states.wait { $0.last == .ready }
            let set = try await supervisor.execute(RedisCommand("SET", "k", "v"), within: .patient)
            #expect(set == .simple("OK"))
            // A command that waits while the server is killed fails; it is not sent again.
            async let blocked = errorCode { () throws(RedisTierError) in
                _ = try await supervisor.execute(
                    RedisCommand("XREAD", "BLOCK", 0, "STREAMS", "log", "$"),
                    within: .patient
                )
            }
            let other = try await connect(server.endpoint)
            while try await run(other, "INFO", "clients").text?.contains("blocked_clients:1") != true {}
            try await server.kill()
            #expect(await blocked == .closed)
            await states.wait { $0.last == .unreachable }
            let code = await errorCode { () throws(RedisTierError) in
                _ = try await supervisor.execute(RedisCommand("GET", "k"), within: .patient)
            }
            #expect(code == .unavailable)
            try await server.start()
            await states.wait { $0.last == .ready }
            // It began anew: nothing was saved.
            #expect(try await supervisor.execute(RedisCommand("GET", "k"), within: .patient) == .null)
            task.cancel()
            await task.value
            #expect(states.value.last == .ended)
        }
    }
}
