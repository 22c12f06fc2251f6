import FleetTier
import Foundation
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisTier

/// The examination of real servers, and of some that a script plays.
@Suite(.timeLimit(.minutes(20))) struct RedisExaminerTests {
    private func examine(
        _ url: String,
        password: String? = nil,
        opens: Bool = true,
        sharesResponses: Bool = true,
        replyLimit: TimeAmount = .patient,
        now: @escaping @Sendable () -> Timestamp = { SystemWallClock().now() }
    ) async throws -> [EngineFinding] {
        let address = try RedisAddress(url: url)
        let settings = RedisConnectionSettings.patient(.tcp(host: "127.0.0.1", port: 1))
        let connector = try RedisConnector(
            address,
            settings: settings,
            password: password,
            on: MultiThreadedEventLoopGroup.singleton
        )
        var expected = RedisExaminer.Expectations(namespace: try #require(FleetNamespace("test")))
        expected.sharesResponses = sharesResponses
        let examiner = RedisExaminer(
            connector,
            address,
            expected: expected,
            opens: { _ in opens },
            now: now,
            replyLimit: replyLimit
        )
        return await examiner.examine()
    }

    private func withServer(
        _ arguments: [String] = [],
        _ body: (RedisServer, String) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let server = try await RedisServer.startOnPort(in: folder.path, arguments)
            do {
                try await body(server, "redis://127.0.0.1:\(server.port ?? 0)")
            } catch {
                try await server.kill()
                throw error
            }
            try await server.kill()
        }
    }

    private func subjects(_ findings: [EngineFinding], _ level: EngineFinding.Level) -> [String] {
        findings.filter { $0.level == level }.map(\.subject)
    }

    /// Mutant: `single-server-is-an-incomplete-cluster`.
    @Test func aSingleServerIsNoCluster() async throws {
        try await withServer { server, _ in
            let findings = try await examine("redis+cluster://127.0.0.1:\(server.port ?? 0)")
            #expect(findings.first?.level == .error && findings.first?.subject == "connection", "\(findings)")
            #expect(findings.first?.message.contains("begin 'fleet.url' with 'redis://'") == true, "\(findings)")
        }
    }

    @Test func aServerIsExaminedAndNothingStaysThere() async throws {
        try await withServer(["--maxmemory", "1gb", "--maxmemory-policy", "volatile-lru"]) { server, url in
            let findings = try await examine(url)
            #expect(subjects(findings, .error) == [], "\(findings)")
            let words = Dictionary(findings.map { ($0.subject, $0.message) }) { $1 }
            #expect(words["version"]?.contains("127.0.0.1:") == true && words["memory"]?.contains("1024 MiB") == true)
            #expect(words["log"]?.contains("namespace 'test' has no log yet") == true, "\(findings)")
            #expect(words["latency"]?.contains(" pings: p50 ") == true, "\(findings)")
            #expect(findings.first { $0.subject == "persistence" }?.level == .warning)
            #expect(try await RedisLogEngine.command(server, RedisCommand("DBSIZE")) == .integer(0))
        }
    }

    /// The rule that the findings name is enough for everything that a node does.
    @Test func userWithTheNamedRuleMayDoEverything() async throws {
        try await withServer { server, url in
            let few = ["on", ">pw", "~*", "-@all", "+ping", "+info", "+time"]
            try await RedisLogEngine.command(
                server,
                RedisCommand("ACL", [.text("SETUSER"), .text("app")] + few.map { .text($0) })
            )
            let place = url.replacingOccurrences(of: "//", with: "//app@")
            let before = try await examine(place, password: "pw")
            let rights = try #require(before.first { $0.subject == "rights" })
            #expect(rights.level == .error && rights.message.contains("xadd") && !rights.message.contains("ping"))
            let rule = try #require(rights.remedy?.firstRange(of: "ACL SETUSER "))
            let words = (rights.remedy ?? "")[rule.upperBound...].split(separator: " ")
            try await RedisLogEngine.command(
                server,
                RedisCommand(
                    "ACL",
                    [.text("SETUSER")] + words.map { .text($0 == ">PASSWORD" ? ">pw" : String($0)) }
                )
            )
            #expect(subjects(try await examine(place, password: "pw"), .error) == [])
            try await useEverything(server.portEndpoint)
            let after = try await examine(place, password: "pw", opens: false)
            #expect(subjects(after, .error) == ["secret"], "\(after)")
            #expect(after.contains { $0.message.hasPrefix("2 entries, 1 node, epoch ") }, "\(after)")
        }
    }

    /// Performs everything that a node does with the log and with responses, as the user `app`.
    private func useEverything(_ endpoint: RedisEndpoint) async throws {
        var settings = RedisConnectionSettings.patient(endpoint)
        settings.credentials = RedisCredentials(user: "app", password: "pw")
        let connector = RedisConnector(
            settings: settings,
            on: MultiThreadedEventLoopGroup.singleton,
            canMove: false
        ) { () throws(RedisTierError) in endpoint }
        let log = RedisLog(
            connector,
            namespace: try #require(FleetNamespace("test")),
            clock: ContinuousClock(),
            random: { 0.5 }
        )
        let values = RedisValues(connector, clock: ContinuousClock(), random: { 0.5 })
        let running = [Task { await log.run() }, Task { await values.run() }]
        defer { for task in running { task.cancel() } }
        try await waitUntil { log.isReady && log.confirmer.state == .ready && values.state == .ready }
        let limit = Duration.seconds(600)
        var random = SeededRandom(seed: 1)
        let offer = try #require(EpochOffer(above: 0, at: try await log.time(within: limit), using: &random))
        let epoch = try await log.begin(offer, within: limit)
        let entry = NewEntry(purge: .random(), sealed: [UInt8](repeating: 1, count: 80))
        let places = try await log.append([entry], in: epoch.number, within: limit)
        #expect(try await log.append([entry], in: epoch.number, within: limit) == places)
        let batch = try await log.follow(after: .zero, count: 10, wait: .milliseconds(1), within: limit)
        #expect(batch.entries.count == 2 && batch.epoch == epoch)
        #expect(try await log.entry(at: places[0], within: limit) != nil)
        #expect(try await log.bounds(within: limit)?.last == places[0])
        var report = NodeReport(
            identity: NodeIdentity(store: .random(), process: 1),
            name: try #require(NodeName("gw-1")),
            applied: places[0],
            unpublished: 0,
            version: "1"
        )
        try await log.announce(report, in: epoch.number, within: limit)
        let rows = try await log.nodes(within: limit)
        report.hasEnded = true
        let ended = NodeRow(report: report, seenAt: try #require(rows.first).seenAt)
        try await log.amend([NodeRowChange(ended, insteadOf: rows.first)], in: epoch.number, within: limit)
        #expect(try await log.nodes(within: limit) == [ended])
        report.hasEnded = false
        try await log.announce(report, in: epoch.number, within: limit)
        #expect(try await log.confirm(replicas: 0, in: epoch.number, wait: .zero, within: limit) == 0)
        let now = try await log.time(within: limit)
        let past = EngineTime(milliseconds: 1)
        try await log.trim(LogRetention(since: past, count: 100, nodesSince: now.adding(.seconds(-60))), within: limit)
        let name = ValueName("hf1:test:{abc}:e")
        let lease = FetchLease(name: ValueName("hf1:test:{abc}:l"), token: LeaseToken(using: &random))
        #expect(try await values.lead(lease, for: .seconds(60), within: limit) == .led)
        #expect(try await values.renew(lease, for: .seconds(60), within: limit))
        _ = try await values.readValue(at: name, lease: lease.name, within: limit)
        var value = ByteBuffer(string: "HFs1")
        value.writeBytes([1, 0, 7, 0])
        value.writeInteger(now.milliseconds)
        value.writeRepeatingByte(0, count: 64)
        #expect(try await values.put(value, as: name, for: .seconds(60), releasing: lease, within: limit))
        #expect(try await values.values([name], within: limit) == [value])
        #expect(try await values.extend([name], for: .seconds(60), within: limit))
        try await values.pass(lease.name, for: .seconds(1), within: limit)
        _ = try await values.release(lease, within: limit)
        #expect(try await values.chunks([name], within: limit) == [value])
    }

    @Test func fullServerAndForeignKeysAreErrors() async throws {
        try await withServer(["--maxmemory", "1", "--maxmemory-policy", "noeviction"]) { _, url in
            let findings = try await examine(url)
            #expect(findings.first { $0.subject == "writing" }?.message.contains("'OOM'") == true, "\(findings)")
        }
        try await withServer { server, url in
            let words = ["SETUSER", "app", "on", ">pw", "~other:*", "+@all"]
            try await RedisLogEngine.command(server, RedisCommand("ACL", words.map { .text($0) }))
            let place = url.replacingOccurrences(of: "//", with: "//app@")
            let findings = try await examine(place, password: "pw")
            let rights = findings.first { $0.subject == "rights" }
            #expect(rights?.message == "The user 'app' may not use keys 'hf1:test:*'.", "\(findings)")
        }
    }

    @Test func allPrimariesOfAClusterAreExamined() async throws {
        try await RedisCluster.with { cluster in
            let url = "redis+cluster://127.0.0.1:\(cluster.servers[0].port ?? 0)"
            let findings = try await examine(url)
            #expect(subjects(findings, .error) == [], "\(findings)")
            let topology = "A cluster with 3 primaries and 0 replicas."
            #expect(findings.first?.message.hasPrefix(topology) == true, "\(findings)")
            #expect(Set(findings.filter { $0.subject == "version" }.map(\.server)).count == 3)
            #expect(findings.filter { $0.subject == "log" }.count == 1)
            let purges = try await examine(url, sharesResponses: false)
            #expect(purges.filter { $0.subject == "version" }.count == 1)
            for server in cluster.servers {
                #expect(try await RedisLogEngine.command(server, RedisCommand("DBSIZE")) == .integer(0))
            }
            let port = cluster.servers[0].port ?? 0
            let alone = try await examine("redis://127.0.0.1:\(port)", sharesResponses: false)
            #expect(subjects(alone, .error).contains("topology"), "\(alone)")
        }
    }

    @Test func primaryIsFoundBySentinels() async throws {
        try await withServer { server, _ in
            let sentinel = try await RedisServer.startSentinel(
                in: "\(server.folder)/sentinel",
                watching: server.port ?? 0,
                quorum: 1
            )
            do {
                let findings = try await examine("redis+sentinel://main@127.0.0.1:\(sentinel.port ?? 0)")
                #expect(subjects(findings, .error) == [], "\(findings)")
                let words = findings.first { $0.subject == "topology" }?.message
                #expect(words?.hasPrefix("Sentinel: the primary 'main' is at '127.0.0.1:") == true, "\(findings)")
            } catch {
                try await sentinel.kill()
                throw error
            }
            try await sentinel.kill()
        }
    }

    // MARK: Servers that are none, or hang

    private func withPeer(
        _ script: @escaping ScriptedPeer.Script,
        _ body: (String) async throws -> Void
    ) async throws {
        let peer = try ScriptedPeer(script)
        try await body("redis://\(peer.endpoint)")
        peer.stop()
    }

    @Test func oldServerIsAnError() async throws {
        let peer: ScriptedPeer.Script = { connection in
            _ = try connection.command()
            try connection.write("%3\r\n+version\r\n+6.2.7\r\n+proto\r\n:3\r\n+role\r\n+master\r\n")
            while true {
                let command = try connection.command()
                switch command[0] {
                case "INFO": try connection.write("+redis_version:6.2.7\r\n")
                case "TIME": try connection.write("*2\r\n$4\r\n1000\r\n$1\r\n0\r\n")
                default: try connection.write("-ERR unknown command\r\n")
                }
            }
        }
        try await withPeer(peer) { url in
            let findings = try await examine(url)
            #expect(Set(subjects(findings, .error)) == ["version", "rights", "clock"], "\(findings)")
        }
    }

    @Test func serverThatHangsIsAnErrorAfterATime() async throws {
        try await withPeer {
            try $0.greet()
            try $0.waitForClose()
        } _: { url in
            let findings = try await examine(url, replyLimit: .milliseconds(20))
            #expect(findings.last?.subject == "connection" && findings.last?.level == .error, "\(findings)")
            #expect(
                findings.last?.message == "The server did not reply within the command's time limit.",
                "\(findings)"
            )
        }
    }

    @Test func otherProgramIsAnError() async throws {
        try await withPeer {
            _ = try $0.command()
            try $0.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { url in
            let findings = try await examine(url)
            #expect(
                findings.count == 1 && findings[0].remedy?.contains("Redis or Valkey server") == true,
                "\(findings)"
            )
        }
    }

    /// Sentences end once, and have no numbers of the system.
    @Test func refusedConnectionIsSaidInOneSentence() async throws {
        let held = try HeldPort()
        let port = held.port
        let findings = try await examine("redis://127.0.0.1:\(port)")
        #expect(
            findings.map(\.message) == ["The server '127.0.0.1:\(port)' is unreachable: Connection refused."],
            "\(findings)"
        )
        withExtendedLifetime(held) {}
        let late = RedisTierError(.timedOut, "It did not reply.")
        #expect(RedisTierError.clause(late) == "It did not reply")
    }
}
