import FleetTier
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import TestSupport
import Testing

@testable import RedisTier

/// Fleet values on a real server, beyond their contract.
@Suite(.timeLimit(.minutes(20))) struct RedisValuesTests {
    private let limit = Duration.seconds(1200)
    private let name = ValueName("hf1:test:{key}:e")

    private func lease(_ seed: UInt64) -> FetchLease {
        var random = SeededRandom(seed: seed)
        return FetchLease(name: ValueName("hf1:test:{key}:l"), token: LeaseToken(using: &random))
    }

    private func value(at milliseconds: Int64) -> ByteBuffer { SampleValue.value(at: milliseconds) }

    @Test func serverThatForgetsScriptsGetsThemAgain() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            for time in [1, 2] as [Int64] {
                try await engine.command(RedisCommand("SCRIPT", "FLUSH"))
                #expect(try await values.put(value(at: time), as: name, for: limit, releasing: nil, within: limit))
                #expect(try await values.lead(lease(1), for: limit, within: limit) == .led)
                #expect(try await values.renew(lease(1), for: limit, within: limit))
                #expect(try await values.release(lease(1), within: limit))
            }
            #expect(try await values.value(name) == value(at: 2))
        }
    }

    /// Otherwise a policy such as `volatile-lru` would keep them, and evict others.
    @Test func allKeysHaveALifetime() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            _ = try await values.put(value(at: 1), as: name, for: .milliseconds(90_500), releasing: nil, within: limit)
            let chunk = SealedChunk(name: ValueName("hf1:test:{key}:c:1:0"), bytes: ByteBuffer(string: "x"))
            try await values.putChunks([chunk], for: .seconds(90), within: limit)
            _ = try await values.lead(lease(1), for: .seconds(90), within: limit)
            try await values.pass(ValueName("hf1:test:{key}:p"), for: .seconds(90), within: limit)
            guard case .array(let keys) = try await engine.command(RedisCommand("KEYS", "*")) else {
                Issue.record("no keys")
                return
            }
            #expect(keys.count == 4)
            for key in keys {
                let left = try await engine.command(RedisCommand("PTTL", .text(try #require(key.text))))
                guard case .integer(let milliseconds) = left else { continue }
                #expect((1...90_500).contains(milliseconds), "\(key.text ?? "")")
            }
        }
    }

    /// A key of another program under our name is not there, or is replaced.
    @Test func keysOfAnotherTypeAreOverwritten() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            for key in [name, lease(1).name] { try await engine.command(RedisCommand("LPUSH", .text(key.text), "x")) }
            #expect(
                try await values.readValue(at: name, lease: lease(1).name, within: limit)
                    == LeaseReading(value: nil, lease: .free)
            )
            #expect(try await values.put(value(at: 1), as: name, for: limit, releasing: lease(1), within: limit))
            #expect(try await values.value(name) == value(at: 1))
            #expect(try await !values.renew(lease(1), for: limit, within: limit))
            #expect(try await !values.release(lease(1), within: limit))
            await #expect(throws: FleetLogError.refused("WRONGTYPE")) {
                try await values.lead(lease(1), for: limit, within: limit)
            }
            await #expect(throws: FleetLogError.refused("WRONGTYPE")) {
                try await values.chunks([lease(1).name], within: limit)
            }
            // A rejection ends no connection.
            #expect(try await values.value(name) == value(at: 1))
        }
    }

    @Test func waitingForChunksDelaysNoValue() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            _ = try await values.put(value(at: 1), as: name, for: limit, releasing: nil, within: limit)
            // The connection for chunks is held up by a command that waits until it is freed.
            let held = Task { [limit] in
                let command = RedisCommand("BLPOP", "hf1:test:gate", 0)
                return try await values.node.large.execute(command, within: TimeAmount(limit))
            }
            while try await engine.command(RedisCommand("INFO", "clients")).text?.contains("blocked_clients:1") != true
            {
                await Task.yield()
            }
            let chunk = ValueName("hf1:test:{key}:c:1:0")
            let chunks = Task { [limit] in try await values.chunks([chunk], within: limit) }
            for _ in 0..<100 { #expect(try await values.value(name) == value(at: 1)) }
            // Chunks are asked for behind that command, so they find what comes now.
            try await engine.plant(value(at: 2), as: chunk)
            try await engine.command(RedisCommand("LPUSH", "hf1:test:gate", "x"))
            _ = try await held.value
            #expect(try await chunks.value == [value(at: 2)])
        }
    }

    @Test func lifetimesOfMoreThanAYearAreRejected() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            await #expect(throws: FleetLogError.limit("lifetime")) {
                try await values.pass(name, for: .seconds(367 * 86_400), within: limit)
            }
            try await values.pass(name, for: .seconds(366 * 86_400), within: limit)
        }
    }

    @Test func withoutAServerCallsFailAtOnce() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            try await engine.server.kill()
            try await waitUntil { values.state != .ready && values.node.large.state != .ready }
            await #expect(throws: FleetLogError.unreachable) { try await values.values([name], within: limit) }
            await #expect(throws: FleetLogError.unreachable) { try await values.chunks([name], within: limit) }
            await #expect(throws: FleetLogError.unreachable) { try await values.release(lease(1), within: limit) }
        }
    }

    /// A dump of the server after responses were shared.
    @Test func serverHoldsNothingReadable() async throws {
        try await RedisValuesEngine.with { engine in
            let values = try await engine.makeNode()
            let keys = try #require(FleetKeys(secret: [UInt8](repeating: 7, count: 32)))
            let target = try TargetURI("https://secret.example/secret?secret")
            let key = StoreKey(partition: .principal("secret"), target: target)
            let names = ValueNamer(keys: keys, namespace: try #require(FleetNamespace("test"))).names(of: key)
            let now = Timestamp(milliseconds: 1_767_225_600_000)
            let draft = ResponseDraft(
                key: key,
                head: StoredResponseHead(
                    status: .ok,
                    fields: [.setCookie: "secret", .contentType: "text/secret"],
                    requestTime: now,
                    responseTime: now
                ),
                freshUntil: now,
                isUsableStale: true,
                storedAt: now,
                tags: ["secret"]
            )
            var random = SeededRandom(seed: 1)
            var chunker = ChunkSealer(keys: keys, names: names, id: BodyID(using: &random), length: 70_000)
            let text = ByteBuffer(string: String(repeating: "secret-", count: 10_000))
            var rest = text
            var chunks: [SealedChunk] = []
            while let length = chunker.nextLength {
                let slice = rest.readSlice(length: length)
                chunks.append(try chunker.seal(try #require(slice), using: &random))
            }
            let envelope = ResponseEnvelope(
                draft,
                fencingPosition: .zero,
                body: .chunks(try chunker.finish()),
                EngineOffset(milliseconds: 0)
            )
            let sealer = EnvelopeSealer(keys: keys)
            let sealed = try sealer.seal(envelope, as: names.envelope, using: &random)
            let lease = FetchLease(name: names.lease, token: LeaseToken(using: &random))
            #expect(try await values.lead(lease, for: limit, within: limit) == .led)
            try await values.putChunks(chunks, for: limit, within: limit)
            #expect(try await values.put(sealed, as: names.envelope, for: limit, releasing: nil, within: limit))
            // Another node opens it.
            let found = try #require(try await values.value(names.envelope))
            guard case .response(let response) = try sealer.open(found, as: names.envelope, for: key),
                case .chunks(let body) = response.body
            else {
                Issue.record("it is no response in chunks")
                return
            }
            var opener = ChunkOpener(keys: keys, names: names, body: body)
            var whole = ByteBuffer()
            while !opener.nextNames.isEmpty {
                for chunk in try await values.chunks(opener.nextNames, within: limit) {
                    whole.writeImmutableBuffer(try opener.open(try #require(chunk)))
                }
            }
            try opener.finish()
            #expect(whole == text)
            guard case .array(let dumped) = try await engine.command(RedisCommand("KEYS", "*")) else { return }
            #expect(dumped.count == 4)
            for key in dumped {
                let name = try #require(key.text)
                let content = try await engine.command(RedisCommand("GET", .text(name))).text ?? ""
                #expect(!name.contains("secret") && !content.contains("secret"))
            }
        }
    }
}

extension RedisValues {
    fileprivate func value(_ name: ValueName) async throws -> ByteBuffer? {
        try await values([name], within: .seconds(1200))[0]
    }
}
