import FleetTier
import HTTPCache
import Testing

@testable import RedisTier

/// The findings about a server, by its state and the settings of a fleet.
@Suite(.timeLimit(.minutes(20))) struct ServerJudgementTests {
    /// A server as a fleet wants it.
    private func facts() -> ServerFacts {
        var facts = ServerFacts(endpoint: .tcp(host: "127.0.0.1", port: 6379))
        facts.information = [
            "redis_version": "7.0.15", "cluster_enabled": "0", "maxmemory": "1073741824",
            "maxmemory_policy": "volatile-lru", "aof_enabled": "1", "aof_last_write_status": "ok",
            "connected_slaves": "1", "run_id": "r",
        ]
        facts.settings = ["appendfsync": "everysec", "min-replicas-to-write": "1"]
        facts.clockOffset = 3
        facts.pings = [.microseconds(200), .microseconds(300)]
        facts.hasLookedAtLog = true
        return facts
    }

    private func expectations(_ change: (inout RedisExaminer.Expectations) -> Void = { _ in }) throws
        -> RedisExaminer.Expectations
    {
        var expected = RedisExaminer.Expectations(namespace: try #require(FleetNamespace("shop")))
        expected.sharesResponses = true
        expected.quorum = 1
        change(&expected)
        return expected
    }

    private func findings(
        at url: String = "redis://127.0.0.1",
        expecting change: (inout RedisExaminer.Expectations) -> Void = { _ in },
        _ facts: ServerFacts
    ) throws -> [String: EngineFinding] {
        let judgement = ServerJudgement(
            facts: facts,
            address: try RedisAddress(url: url),
            expected: try expectations(change),
            hasLog: true
        )
        return Dictionary(judgement.findings(nil).map { ($0.subject, $0) }) { first, _ in first }
    }

    @Test func aGoodServerHasNoProblem() throws {
        let findings = try findings(facts())
        #expect(findings.values.allSatisfy { $0.level == .ok && $0.remedy == nil })
        #expect(
            Set(findings.keys)
                == [
                    "version", "topology", "encryption", "memory", "persistence", "replicas", "rights", "clock",
                    "latency", "log",
                ]
        )
        #expect(findings.values.allSatisfy { $0.message.hasSuffix(".") || $0.subject == "rights" })
    }

    @Test(arguments: [
        ("redis_version", "6.2.7", "version", EngineFinding.Level.error, "6.2.7 at '127.0.0.1:6379' is too old"),
        ("redis_version", "7.2.4", "version", .ok, "Redis 7.2.4"),
        ("redis_version", "x", "version", .error, "not report"),
        ("valkey_version", "8.1.0", "version", .ok, "Valkey 8.1.0"),
        ("cluster_enabled", "1", "topology", .error, "a node of a cluster"),
        ("maxmemory_policy", "allkeys-lru", "memory", .warning, "evict the log"),
        ("maxmemory_policy", "allkeys-random", "memory", .warning, "evict the log"),
        ("maxmemory_policy", "noeviction", "memory", .warning, "neither responses nor purges"),
        ("maxmemory_policy", "volatile-lfu", "memory", .ok, "1024 MiB"),
        ("maxmemory", "0", "memory", .warning, "all of the machine's memory"),
        ("aof_enabled", "0", "persistence", .warning, "No append-only file"),
        ("aof_last_write_status", "err", "persistence", .error, "could not be written"),
        ("connected_slaves", "0", "replicas", .error, "no contact is confirmed"),
        ("connected_slaves", "2", "replicas", .ok, "2 replicas"),
    ])
    func informationIsJudged(
        _ name: String,
        _ value: String,
        _ subject: String,
        _ level: EngineFinding.Level,
        _ words: String
    ) throws {
        var facts = facts()
        facts.information?[name] = value
        let finding = try #require(try findings(facts)[subject])
        #expect(finding.level == level && finding.message.contains(words), "\(finding)")
        #expect((finding.remedy == nil) == (level == .ok), "\(finding)")
    }

    @Test func purgesAloneNeedNoRoomForResponses() throws {
        var facts = facts()
        facts.information?["maxmemory_policy"] = "noeviction"
        #expect(try findings(expecting: { $0.sharesResponses = false }, facts)["memory"]?.level == .ok)
        facts.information?["maxmemory"] = "0"
        #expect(try findings(expecting: { $0.sharesResponses = false }, facts)["memory"]?.level == .ok)
        facts.information?["maxmemory_policy"] = "allkeys-lru"
        #expect(try findings(expecting: { $0.sharesResponses = false }, facts)["memory"]?.level == .warning)
    }

    @Test func settingsThatMayNotBeSeenAreNotJudged() throws {
        var facts = facts()
        facts.settings = nil
        #expect(try findings(facts).values.allSatisfy { $0.level == .ok })
        facts.information = nil
        facts.greetedVersion = "7.0.15"
        let findings = try findings(facts)
        #expect(findings["version"]?.level == .ok && findings["memory"] == nil && findings["replicas"] == nil)
    }

    @Test func syncingAndReplicasAreJudgedBySettings() throws {
        var facts = facts()
        facts.settings = ["appendfsync": "no", "min-replicas-to-write": "0"]
        var found = try findings(facts)
        #expect(found["persistence"]?.level == .warning && found["replicas"]?.level == .warning, "\(found)")
        facts.settings?["min-replicas-to-write"] = "2"
        found = try findings(facts)
        #expect(found["replicas"]?.level == .error && found["replicas"]?.message.contains("rejects purges") == true)
        found = try findings(expecting: { ($0.quorum, $0.validatesWhenCutOff) = (0, true) }, self.facts())
        #expect(found["replicas"]?.level == .warning && found["replicas"]?.remedy == "Set 'fleet.quorum' to 1.")
    }

    @Test(
        arguments: [
            (0, EngineFinding.Level.ok, "0 ms"), (-1000, .ok, "1000 ms"), (1001, .warning, "1.0 s ahead"),
            (-60_000, .warning, "60.0 s behind"), (60_001, .error, "60.0 s ahead"), (-90_500, .error, "90.5 s behind"),
        ] as [(Int64, EngineFinding.Level, String)]
    )
    func clocksAreCompared(_ offset: Int64, _ level: EngineFinding.Level, _ words: String) throws {
        var facts = facts()
        facts.clockOffset = offset
        let finding = try #require(try findings(facts)["clock"])
        #expect(finding.level == level && finding.message.contains(words), "\(finding)")
    }

    @Test func slowPingsAreAWarning() throws {
        var facts = facts()
        facts.pings = Array(repeating: .milliseconds(1), count: 190) + Array(repeating: .milliseconds(80), count: 10)
        let finding = try #require(try findings(facts)["latency"])
        #expect(finding.level == .warning && finding.message.contains("200 pings: p50 1 ms, p99 80 ms"), "\(finding)")
        #expect(try findings(expecting: { $0.timeout = .milliseconds(100) }, facts)["latency"]?.level == .ok)
    }

    @Test func plainTextToAnotherMachineIsAWarning() throws {
        var facts = facts()
        facts.endpoint = .tcp(host: "cache.internal", port: 6379)
        #expect(try findings(facts)["encryption"]?.level == .warning)
        facts.usesTLS = true
        #expect(try findings(facts)["encryption"]?.level == .ok)
    }

    @Test func missingRightsAreNamedWithTheRuleThatGivesThem() throws {
        var facts = facts()
        facts.denied = ["xadd", "eval"]
        facts.deniesKeys = true
        let finding = try #require(try findings(at: "redis://app@127.0.0.1", facts)["rights"])
        #expect(finding.level == .error)
        #expect(
            finding.message == "The user 'app' may not run eval, xadd, and may not use keys 'hf1:shop:*'.",
            "\(finding)"
        )
        let remedy = finding.remedy ?? ""
        #expect(remedy.contains("ACL SETUSER app on >PASSWORD resetkeys ~hf1:shop:* -@all +del"), "\(remedy)")
        #expect(!remedy.contains("+@") && !remedy.contains("cluster"), "\(remedy)")
        #expect(remedy.contains(" +xinfo|stream "), "\(remedy)")
        facts.information?["cluster_enabled"] = "1"
        let cluster = try #require(try findings(at: "redis+cluster://127.0.0.1", facts)["rights"]?.remedy)
        #expect(cluster.contains("+asking") && cluster.contains("+cluster|slots"), "\(cluster)")
        let purges = try #require(try findings(expecting: { $0.sharesResponses = false }, facts)["rights"]?.remedy)
        #expect(!purges.contains("+mget"), "\(purges)")
    }

    @Test(arguments: ["OOM", "MISCONF", "NOREPLICAS", "READONLY"]) func rejectedWritesAreErrors(_ word: String) throws {
        var facts = facts()
        facts.rejectedWrite = word
        let finding = try #require(try findings(facts)["writing"])
        #expect(finding.level == .error && finding.message.contains(word) && finding.remedy != nil)
    }

    // MARK: The log

    private func log(_ change: (inout ServerFacts.LogFacts) -> Void = { _ in }) -> ServerFacts {
        var facts = facts()
        var log = ServerFacts.LogFacts()
        (log.count, log.epoch, log.isOfThisServer) = (40, "17", true)
        log.rows = [Self.row("gw-1", 1), Self.row("gw-2", 2)].compactMap { $0 }
        (log.firstAt, log.now) = (EngineTime(milliseconds: 0), EngineTime(milliseconds: 2 * 3_600_000))
        (log.openedCount, log.isTrimmed) = (16, true)
        change(&log)
        facts.log = log
        return facts
    }

    @Test func logMustReachBackAsFarAsResponsesAreShared() throws {
        let short = try #require(try findings(log())["reach"])
        #expect(short.level == .warning && short.message.contains("back 2 h, and responses are shared for 24 h"))
        #expect(try findings(log { $0.isTrimmed = false })["reach"]?.level == .ok)
        #expect(try findings(expecting: { $0.longest = .seconds(7200) }, log())["reach"]?.level == .ok)
        #expect(try findings(expecting: { $0.sharesResponses = false }, log())["reach"]?.level == .ok)
    }

    @Test func lostLogAndAnotherSecretAreFound() throws {
        #expect(try findings(log())["log"]?.message == "40 entries, 2 nodes, epoch 17.")
        #expect(try findings(log { $0.count = 1 })["log"]?.message == "1 entry, 2 nodes, epoch 17.")
        #expect(try findings(log { $0.openedCount = 1 })["secret"]?.message == "The last purge can be opened.")
        #expect(try findings(log { $0.isOfThisServer = false })["log"]?.message.contains("starts a new epoch") == true)
        #expect(try findings(log { $0.count = 0 })["log"]?.level == .warning)
        #expect(try findings(log())["secret"]?.level == .ok)
        #expect(try findings(log { $0.unreadableCount = 3 })["secret"]?.level == .warning)
        #expect(try findings(log { $0.unreadableCount = 16 })["secret"]?.level == .error)
    }

    private static func row(_ name: String, _ store: UInt8, unopened: UInt64 = 0) -> NodeRow? {
        guard let name = NodeName(name), let store = PurgeID([UInt8](repeating: store, count: 16)) else { return nil }
        let report = NodeReport(
            identity: NodeIdentity(store: store, process: 1),
            name: name,
            applied: .zero,
            unpublished: 0,
            unopened: unopened,
            version: "1"
        )
        return NodeRow(report: report, seenAt: EngineTime(milliseconds: 0))
    }

    @Test func nodesWithOneNameAreNamed() throws {
        #expect(try findings(log())["nodes"] == nil)
        let rows = [Self.row("gw", 1), Self.row("gw", 2), Self.row("other", 3)].compactMap { $0 }
        let found = try #require(try findings(log { $0.rows = rows })["nodes"])
        #expect(found.level == .warning && found.message.hasPrefix("2 nodes are named 'gw': "), "\(found)")
        for row in rows[..<2] { #expect(found.message.contains("\(row.report.identity)")) }
        #expect(found.remedy?.contains("'fleet.node'") == true)
    }

    /// Nodes report once a second, so a few entries are no finding.
    ///
    /// Mutant: `fleet-check-overlooks-nodes-behind`.
    @Test(arguments: [(512, false), (513, true), (860, true)])
    func aNodeThatCatchesUpIsNamedWithItsDistance(_ behind: UInt64, _ isFound: Bool) throws {
        var row = try #require(Self.row("gw-1", 1))
        row.report.applied = LogPosition(epoch: 17, number: 40)
        row.seenAt = EngineTime(milliseconds: 2 * 3_600_000 - 3000)
        let facts = log {
            $0.rows = [row]
            $0.last = LogPosition(epoch: 17, number: 40 + behind)
        }
        let found = try findings(facts)["nodes"]
        #expect((found != nil) == isFound)
        guard let found else { return }
        #expect(found.level == .warning, "\(found)")
        #expect(found.message.contains("'gw-1' is catching up") && found.message.contains("\(behind) entries behind"))
        #expect(found.message.hasSuffix(", seen 3 s ago."), "\(found)")
    }

    @Test func aNodeThatCatchesUpInAnotherEpochIsNamed() throws {
        var row = try #require(Self.row("gw-1", 1))
        row.report.applied = LogPosition(epoch: 16, number: 40)
        let facts = log {
            $0.rows = [row]
            $0.last = LogPosition(epoch: 17, number: 2)
        }
        #expect(try findings(facts)["nodes"]?.message.contains("an unknown number of entries behind") == true)
    }

    @Test func aNodeWithAnotherSecretIsNamed() throws {
        let rows = [Self.row("gw-1", 1), Self.row("gw-2", 2, unopened: 3)].compactMap { $0 }
        let facts = log {
            $0.rows = rows
            $0.openedCount = 0
        }
        let found = try #require(try findings(facts)["secret"])
        #expect(found.level == .error && found.message.contains("'gw-2' cannot open 3 entries"), "\(found)")
    }
}
