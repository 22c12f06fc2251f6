package import FleetTier
import HTTPCache
package import HTTPCacheSemantics
package import NIOCore

/// Examines a server or the primaries of a cluster, either before a fleet relies on it or when
/// something fails. No data remains on the server afterward; if the key of a probe cannot be
/// removed, it expires after 10 seconds.
package struct RedisExaminer: Sendable {
    /// The fleet's settings that a server is checked against.
    package struct Expectations: Sendable {
        package var namespace: FleetNamespace
        package var sharesResponses = false
        package var validatesWhenCutOff = false
        package var quorum = 0
        package var timeout = Duration.milliseconds(50)
        package var longest = Duration.seconds(24 * 3600)

        package init(namespace: FleetNamespace) { self.namespace = namespace }
    }

    static let pingCount = 200
    static let pingLimit = Duration.seconds(3)
    /// The number of the latest log entries that the examination tries to decrypt.
    static let openedCount = 16

    private let connector: RedisConnector
    private let address: RedisAddress
    private let expected: Expectations
    private let opens: @Sendable ([UInt8]) -> Bool
    private let now: @Sendable () -> Timestamp
    private let replyLimit: TimeAmount

    /// - Parameters:
    ///   - opens: returns whether a sealed purge can be decrypted.
    ///   - now: returns the node's time.
    ///   - replyLimit: the time limit for one reply. All replies of one server together may take
    ///     four times as long.
    package init(
        _ connector: RedisConnector,
        _ address: RedisAddress,
        expected: Expectations,
        opens: @escaping @Sendable ([UInt8]) -> Bool,
        now: @escaping @Sendable () -> Timestamp,
        replyLimit: TimeAmount = .seconds(5)
    ) {
        self.connector = connector
        self.address = address
        self.expected = expected
        self.opens = opens
        self.now = now
        self.replyLimit = replyLimit
    }

    /// Connects to the servers, queries them and returns the findings.
    package func examine() async -> [EngineFinding] {
        guard let cluster = connector.cluster else { return await examine(connector, hasLog: true, tag: "log") }
        let map: ClusterMap
        do throws(RedisTierError) {
            map = try await cluster.refresh()
        } catch {
            return [.connection(error)]
        }
        let slot = LogKeys(expected.namespace).slot
        guard let owner = map.owner(of: slot) else {
            return [
                .connection(
                    RedisTierError(.unreachable, "No node of the cluster owns slot \(slot), which the log needs.")
                )
            ]
        }
        var findings = [
            EngineFinding(
                .ok,
                "topology",
                server: "\(owner)",
                "A cluster with \(map.primaries.count) primaries and \(map.replicas.count) replicas. The log is on '\(owner)'."
            )
        ]
        let places = expected.sharesResponses ? map.primaries : [owner]
        let all = await withTaskGroup(of: (Int, [EngineFinding]).self) { group in
            for (number, place) in places.enumerated() {
                group.addTask {
                    let tag = place == owner ? "log" : tag(at: place, map)
                    return (number, await examine(connector.at(place), hasLog: place == owner, tag: tag))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
        }
        for (_, part) in all { findings += part }
        return findings
    }

    /// Returns a hash tag whose slot a given primary owns.
    private func tag(at place: RedisEndpoint, _ map: ClusterMap) -> String {
        let tags = (0..<HashSlot.count * 4).lazy.map { "check-\($0)" }
        return tags.first { map.owner(of: HashSlot(of: "{\($0)}")) == place } ?? "log"
    }

    private func examine(_ connector: RedisConnector, hasLog: Bool, tag: String) async -> [EngineFinding] {
        let opened: RedisConnector.Opened
        do throws(RedisTierError) {
            opened = try await connector.open()
        } catch {
            return [.connection(error)]
        }
        defer { opened.connection.close() }
        var facts = ServerFacts(endpoint: opened.endpoint)
        facts.usesTLS = connector.settings.tls != nil
        facts.greetedVersion = opened.greeting.version
        let server = ExaminedServer(connection: opened.connection, replyLimit: replyLimit, now: now)
        var failure: RedisTierError?
        do throws(RedisTierError) {
            try await server.ask(&facts)
            try await server.probe(&facts, key: key(tag), hasLog: hasLog, expected, isCluster: connector.cluster != nil)
            if hasLog { try await server.lookAtLog(&facts, LogKeys(expected.namespace), opens) }
            try await server.ping(&facts)
        } catch {
            failure = error
        }
        return ServerJudgement(facts: facts, address: address, expected: expected, hasLog: hasLog).findings(failure)
    }

    /// Returns a key for the probe that no fleet uses.
    private func key(_ tag: String) -> RedisCommand.Argument {
        .text("hf1:\(expected.namespace):{\(tag)}:check:\(PurgeID.random())")
    }
}

extension EngineFinding {
    /// Returns the finding about a failed connection.
    static func connection(_ error: RedisTierError) -> EngineFinding {
        let remedy: String
        switch error.code {
        case .rejected:
            remedy = "Correct the user in 'fleet.url', or 'fleet.password'. 'ACL LIST' on the server lists its users."
        case .malformed, .limit, .unexpected:
            remedy =
                "Make sure that it is a Redis or Valkey server. Correct 'fleet.url': host, port, and 'rediss' for TLS."
        default:
            remedy =
                "Start the server, or correct 'fleet.url': host, port, and 'rediss' for TLS. "
                + "Check firewalls, and 'bind' and 'protected-mode' on the server."
        }
        return EngineFinding(.error, "connection", error.message, remedy: remedy)
    }
}
