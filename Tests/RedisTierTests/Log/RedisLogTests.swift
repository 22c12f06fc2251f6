import FleetTesting
import FleetTier
import Foundation
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import NIOPosix
import Testing

@testable import RedisTier

/// The fleet log on real servers, beyond its contract.
@Suite(.timeLimit(.minutes(20))) struct RedisLogTests {
    private let limit = Duration.seconds(1200)

    private func purge(_ number: UInt64) -> PurgeID {
        var random = SeededRandom(seed: number)
        return PurgeID(using: &random)
    }

    private func begin(_ log: any FleetLog, knowing epoch: UInt64 = 0) async throws -> LogEpoch {
        var random = SeededRandom(seed: epoch &+ 1)
        return try await log.begin(knowing: epoch, using: &random, within: limit)
    }

    private func append(_ log: any FleetLog, _ number: UInt64, _ epoch: LogEpoch) async throws -> LogPosition {
        try await log.append([UInt8(number)], purge: purge(number), in: epoch.number, within: limit)
    }

    /// A running log on a server of its own.
    private func withLog(
        _ arguments: [String] = [],
        password: String? = nil,
        user: String? = nil,
        _ body: (RedisLog, RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.with(arguments) { server async throws in
            var settings = RedisConnectionSettings.patient(server.endpoint)
            if let password { settings.credentials = RedisCredentials(user: user, password: password) }
            let connector = RedisConnector(
                settings: settings,
                on: MultiThreadedEventLoopGroup.singleton,
                canMove: false
            ) { () throws(RedisTierError) in server.endpoint }
            try await running(RedisLog.forTests(connector, namespace: "test")) { log async throws in
                try await body(log, server)
            }
        }
    }

    private func running(_ log: RedisLog, _ body: (RedisLog) async throws -> Void) async throws {
        let task = Task { await log.run() }
        await log.waitUntilReady()
        do {
            try await body(log)
        } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    private let stream = RedisCommand.Argument.text("hf1:test:{log}:s")

    // MARK: Scripts

    @Test func serverThatForgetsScriptsGetsThemAgain() async throws {
        try await withLog { log, server async throws in
            let epoch = try await begin(log)
            #expect(try await append(log, 1, epoch).number == 2)
            try await RedisLogEngine.command(server, RedisCommand("SCRIPT", "FLUSH"))
            #expect(try await append(log, 2, epoch).number == 3)
            // The digest is known now, so that a source is sent once.
            let known = try await RedisLogEngine.command(server, RedisCommand("INFO", "commandstats")).text ?? ""
            #expect(known.contains("cmdstat_evalsha") && known.contains("cmdstat_eval:calls=3,"))
        }
    }

    @Test func trimFindsTheFirstYoungEntryAcrossEpochs() async throws {
        try await withLog { log, server async throws in
            // Times in several epochs, with one entry that another program wrote.
            let times: [(String, Int)] = [
                ("5-1", 10), ("5-2", 20), ("5-3", 20), ("5-7", 30), ("6-1", 40), ("7-1", 50), ("7-2", 60), ("7-3", 70),
            ]
            for since in [0, 10, 11, 20, 21, 30, 35, 41, 60, 61, 70] {
                try await RedisLogEngine.command(server, RedisCommand("DEL", stream))
                for (id, time) in times {
                    let command = RedisCommand("XADD", stream, .text(id), "p", "x", "t", .integer(time))
                    try await RedisLogEngine.command(server, command)
                }
                let since = EngineTime(milliseconds: Int64(since))
                try await log.trim(LogRetention(since: since), within: limit)
                let left = try await log.follow(after: .zero, count: 512, wait: .zero, within: limit).entries
                let expected = times.filter { $0.1 >= since.milliseconds }.map(\.0)
                #expect(left.map { "\($0.position)" } == expected, "since \(since)")
            }
        }
    }

    /// An entry that another program put behind all of the epoch's is no end of the log.
    @Test func foreignEntryAboveTheEpochBeginsAnother() async throws {
        try await withLog { log, server async throws in
            let epoch = try await begin(log)
            let foreign = LogPosition(epoch: epoch.number + 7, number: 5)
            let command = RedisCommand("XADD", stream, .text("\(foreign)"), "junk", "x")
            try await RedisLogEngine.command(server, command)
            await #expect(throws: FleetLogError.wrongEpoch) { try await append(log, 1, epoch) }
            let later = try await begin(log, knowing: epoch.number)
            #expect(later.number > foreign.epoch)
            let entries = try await log.follow(after: foreign, count: 1, wait: .zero, within: limit).entries
            #expect(entries.map(\.content) == [.marker(EpochMarker(name: later.name, inherited: foreign))])
            #expect(try await log.entry(at: foreign, within: limit)?.content == .unreadable)
        }
    }

    @Test func keysOfAnotherTypeAreRefused() async throws {
        try await withLog { log, server async throws in
            try await RedisLogEngine.command(server, RedisCommand("SET", stream, "text"))
            await #expect(throws: FleetLogError.refused("WRONGTYPE")) {
                try await log.entry(at: .zero, within: limit)
            }
            let error = await #expect(throws: FleetLogError.self) { try await begin(log) }
            guard case .refused = error else { return _ = Issue.record("\(String(describing: error))") }
        }
    }

    /// Entries of the greatest length, more than one reply may have.
    @Test func longEntriesAreReadInSmallBatches() async throws {
        try await withLog { log, _ async throws in
            let epoch = try await begin(log)
            let bytes = [UInt8](repeating: 7, count: LogEntry.longestSealed)
            for number in 0..<220 as Range<UInt64> {
                _ = try await log.append(bytes, purge: purge(number), in: epoch.number, within: limit)
            }
            var seen = LogPosition.zero
            var count = 0
            while count < 221 {
                do throws(FleetLogError) {
                    let batch = try await log.follow(after: seen, count: 512, wait: .zero, within: limit)
                    count += batch.entries.count
                    seen = batch.entries.last?.position ?? seen
                } catch {
                    // The connection that had too much is made again.
                    guard error == .unreachable || error == .malformed("the server's bytes") else { throw error }
                    await Task.yield()
                }
            }
            #expect(seen.number == 221)
        }
    }

    // MARK: Waiting

    @Test func cancelledReaderLeavesItsConnection() async throws {
        try await withLog { log, server async throws in
            let epoch = try await begin(log)
            let cursor = LogPosition(epoch: epoch.number, number: 1)
            let task = Task { [limit] in try await log.follow(after: cursor, count: 1, wait: limit, within: limit) }
            while try await RedisLogEngine.command(server, RedisCommand("INFO", "clients")).text?
                .contains("blocked_clients:1") != true
            {}
            task.cancel()
            await #expect(throws: FleetLogError.cancelled) { try await task.value }
            await log.waitUntilReady()
            while true {
                do throws(FleetLogError) {
                    let batch = try await log.follow(after: cursor, count: 1, wait: .zero, within: limit)
                    #expect(batch.epoch == epoch && batch.entries == [])
                    return
                } catch {
                    guard error == .unreachable else { throw error }
                    await Task.yield()
                }
            }
        }
    }

    /// A reader and a caller that waits for replicas hold nothing else up.
    @Test func waitingCallsDoNotBlockOthers() async throws {
        try await withLog { log, server async throws in
            let epoch = try await begin(log)
            let position = try await append(log, 1, epoch)
            let reader = Task { [limit] in try await log.follow(after: position, count: 1, wait: limit, within: limit) }
            let confirmer = Task { [limit] in
                try await log.confirm(replicas: 1, in: epoch.number, wait: .seconds(1000), within: limit)
            }
            while try await RedisLogEngine.command(server, RedisCommand("INFO", "clients")).text?
                .contains("blocked_clients:2") != true
            {}
            let next = try await append(log, 2, epoch)
            #expect(try await reader.value.entries.map(\.position) == [next])
            confirmer.cancel()
            await #expect(throws: FleetLogError.cancelled) { try await confirmer.value }
        }
    }

    // MARK: Servers

    /// The list of an operator who gives away no more than is needed.
    @Test func userWithFewRightsIsEnough() async throws {
        let list = [
            "--user", "default", "off", "--user", "holdfast", "on", ">correct horse", "~hf1:test:*", "resetchannels",
            "-@all", "+hello", "+client|setname", "+ping", "+role", "+time", "+info", "+eval", "+evalsha", "+wait",
            "+xadd", "+xread", "+xrange", "+xrevrange", "+xtrim", "+xinfo|stream", "+exists", "+get", "+set", "+hget",
            "+hmget", "+hset", "+hdel", "+hgetall", "+hincrby",
        ]
        try await withLog(list, password: "correct horse", user: "holdfast") { log, _ async throws in
            let epoch = try await begin(log)
            let position = try await append(log, 1, epoch)
            #expect(try await append(log, 1, epoch) == position)
            let name = try #require(NodeName("gw-1"))
            let report = NodeReport(
                identity: NodeIdentity(store: .random(), process: 1),
                name: name,
                applied: position,
                unpublished: 0,
                version: "1"
            )
            try await log.announce(report, in: epoch.number, within: limit)
            #expect(try await log.nodes(within: limit).map(\.report) == [report])
            #expect(try await log.bounds(within: limit)?.last == position)
            #expect(try await log.epoch(within: limit) == epoch)
            #expect(try await log.confirm(replicas: 0, in: epoch.number, wait: .zero, within: limit) == 0)
            let retention = LogRetention(
                since: EngineTime(milliseconds: 0),
                count: 1,
                nodesSince: EngineTime(milliseconds: .max)
            )
            try await log.trim(retention, within: limit)
            #expect(
                try await log.follow(after: .zero, count: 9, wait: .milliseconds(1), within: limit).entries.count == 1
            )
        }
    }

    @Test func missingRightIsRefusedByName() async throws {
        let list = ["--user", "default", "on", "nopass", "~*", "+@all", "-xadd"]
        try await withLog(list) { log, _ async throws in
            let error = await #expect(throws: FleetLogError.self) { try await begin(log) }
            guard case .refused = error else { return _ = Issue.record("\(String(describing: error))") }
        }
    }

    @Test func engineHasNothingOfAPurgeInReadableForm() async throws {
        try await withLog { log, server async throws in
            let epoch = try await begin(log)
            let keys = try #require(FleetKeys(secret: Array("a secret of more than 32 bytes in all".utf8)))
            let sealer = LogSealer(keys: keys, namespace: try #require(FleetNamespace("test")))
            var random = SeededRandom(seed: 1)
            let words = ["https://a.example/private/path", "tag-of-a-user", "a.example"]
            let kinds: [ScopeSelector.Kind] = [.target, .tag, .host]
            let selectors = zip(kinds, words).map { ScopeSelector(kind: $0, bytes: Array($1.utf8)) }
            for selector in selectors {
                let record = PurgeRecord(
                    id: PurgeID(using: &random),
                    node: try #require(NodeName("gw-1")),
                    effect: .remove,
                    selector: selector,
                    issuedAt: try await log.time(within: limit),
                    issuedLocally: Timestamp(seconds: 1_767_225_600)
                )
                let sealed = try sealer.seal(record, using: &random)
                _ = try await log.append(sealed, purge: record.id, in: epoch.number, within: limit)
            }
            let entries = try await log.follow(after: .zero, count: 9, wait: .zero, within: limit).entries
            let opened = try entries.compactMap { entry -> PurgeRecord? in
                guard case .purge(let bytes) = entry.content else { return nil }
                return try sealer.open(bytes)
            }
            #expect(opened.map(\.selector) == selectors)
            try await RedisLogEngine.command(server, RedisCommand("SAVE"))
            let dump = try Data(contentsOf: URL(fileURLWithPath: "\(server.folder)/dump.rdb"))
            for word in words + ["more than 32 bytes"] {
                #expect(dump.range(of: Data(word.utf8)) == nil, "\(word)")
            }
            #expect(dump.range(of: Data("hf1:test:{log}:s".utf8)) != nil)
        }
    }

    /// `WAIT` alone is about an earlier command of its own connection, which the replica has.
    @Test func confirmationIsAboutAllThatWasWritten() async throws {
        try await RedisLogEngine.withReplica { engine async throws in
            let log = try await engine.makeLog()
            let epoch = try await begin(log)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
            let replica = try #require(engine.replica)
            // Until the primary knows that the replica has all of it.
            while true {
                let text =
                    try await RedisLogEngine.command(engine.primary, RedisCommand("INFO", "replication")).text ?? ""
                let lines = text.split(whereSeparator: \.isNewline)
                let offset = lines.first { $0.hasPrefix("master_repl_offset:") }?.split(separator: ":").last ?? "none"
                if lines.contains(where: { $0.hasPrefix("slave0:") && $0.contains(",offset=\(offset),") }) { break }
            }
            replica.setStopped(true)
            _ = try await append(log, 1, epoch)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: .milliseconds(20), within: limit) == 0)
            replica.setStopped(false)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
        }
    }

    /// Nothing breaks the connections to the old primary, which lives on.
    @Test func logLeavesAServerThatIsNotThePrimaryAnyMore() async throws {
        try await RedisLogEngine.withReplica { engine async throws in
            let questions = Observed(0)
            let log = RedisLog.forTests(namespace: "test", canMove: true) { () throws(RedisTierError) in
                questions.change { $0 += 1 }
                return engine.primary.endpoint
            }
            try await running(log) { log async throws in
                let epoch = try await begin(log)
                #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
                try await engine.cause(.holdReplication)
                try await engine.cause(.split)
                // One question is enough to notice. A log that stays asks on and on.
                let start = questions.value
                while questions.value < start + 200 {
                    let error = await failure { () async throws(FleetLogError) in
                        _ = try await log.append([1], purge: purge(1), in: epoch.number, within: limit)
                    }
                    if error == .wrongEpoch { return }
                    #expect(error == nil || error == .unreachable)
                    await Task.yield()
                }
                Issue.record("it stayed with the old primary")
            }
        }
    }

    private func failure(_ body: () async throws(FleetLogError) -> Void) async -> FleetLogError? {
        do throws(FleetLogError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test func replicaIsUnreachable() async throws {
        try await RedisLogEngine.withReplica { engine async throws in
            let replica = try #require(engine.replica)
            let connector = RedisConnector(
                settings: .patient(replica.endpoint),
                on: MultiThreadedEventLoopGroup.singleton,
                canMove: false
            ) { () throws(RedisTierError) in replica.endpoint }
            let error = await #expect(throws: RedisTierError.self) { try await connector.connect() }
            #expect(error?.code == .unreachable)
        }
    }

    /// A primary that becomes a replica while it is connected to.
    @Test func demotedPrimaryIsLeft() async throws {
        try await RedisLogEngine.withReplica { engine async throws in
            let log = try await engine.makeLog()
            let epoch = try await begin(log)
            let kept = try await append(log, 1, epoch)
            #expect(try await log.confirm(replicas: 1, in: epoch.number, wait: limit, within: limit) == 1)
            let old = engine.primary
            try await engine.cause(.holdReplication)
            try await engine.cause(.split)
            try await RedisLogEngine.follow(old, engine.primary)
            // The replica rejects writes, by which the log notices.
            let later = try await reachable { try await begin(log, knowing: epoch.number) }
            let batch = try await reachable {
                try await log.follow(after: kept, count: 9, wait: .zero, within: limit)
            }
            #expect(batch.entries.map(\.content) == [.marker(EpochMarker(name: later.name, inherited: kept))])
        }
    }
}
