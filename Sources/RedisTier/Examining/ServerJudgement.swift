import FleetTier

/// Compares the state of a server with the settings of a fleet. A pure value.
struct ServerJudgement: Sendable {
    let facts: ServerFacts
    let address: RedisAddress
    let expected: RedisExaminer.Expectations
    let hasLog: Bool

    private typealias Level = EngineFinding.Level

    /// - Parameter failure: the error that ended the examination; `nil` if the examination is
    ///   complete.
    func findings(_ failure: RedisTierError?) -> [EngineFinding] {
        var findings = [version, topology, encryption, memory, persistence].compactMap { $0 }
        findings += [replicas, rights, writing, clock, latency].compactMap { $0 }
        if hasLog { findings += log }
        if let failure { findings.append(.connection(failure)) }
        return findings
    }

    private func finding(
        _ level: Level,
        _ subject: String,
        _ message: String,
        remedy: String? = nil
    ) -> EngineFinding {
        EngineFinding(level, subject, server: "\(facts.endpoint)", message, remedy: remedy)
    }

    // MARK: The server

    private var version: EngineFinding {
        guard let version = facts.version, let major = version.split(separator: ".").first.flatMap({ Int($0) }) else {
            return finding(
                .error,
                "version",
                "The server at '\(facts.endpoint)' does not report its version.",
                remedy: "Allow the user to run INFO, and use Redis 7.0 or later, or Valkey."
            )
        }
        guard facts.product == "Valkey" || major >= 7 else {
            return finding(
                .error,
                "version",
                "\(facts.product) \(version) at '\(facts.endpoint)' is too old. Version 7.0 or later is required.",
                remedy: "Upgrade it, or name another server in 'fleet.url'."
            )
        }
        return finding(.ok, "version", "\(facts.product) \(version) at '\(facts.endpoint)'.")
    }

    private var topology: EngineFinding? {
        let isInCluster = facts.number("cluster_enabled") == 1
        switch address.topology {
        case .server where isInCluster:
            return finding(
                .error,
                "topology",
                "The server is a node of a cluster, but 'fleet.url' names a single server.",
                remedy: "Use 'redis+cluster://HOST:PORT' with some of its nodes."
            )
        case .server: return finding(.ok, "topology", "A single server.")
        case .sentinels(let places, let primary):
            return finding(
                .ok,
                "topology",
                "Sentinel: the primary '\(primary)' is at '\(facts.endpoint)'. 'fleet.url' lists \(places.count) sentinels."
            )
        // The finding about the cluster's map covers all nodes.
        case .cluster: return nil
        }
    }

    private var encryption: EngineFinding {
        if facts.usesTLS { return finding(.ok, "encryption", "TLS.") }
        switch facts.endpoint {
        case .unix: return finding(.ok, "encryption", "A Unix socket.")
        case .tcp(let host, _) where host == "localhost" || host == "::1" || host.hasPrefix("127."):
            return finding(.ok, "encryption", "None, but the server is on this machine.")
        case .tcp:
            return finding(
                .warning,
                "encryption",
                "None: anyone who can read the network sees the password. Shared data is sealed.",
                remedy: "Use 'rediss://' and a TLS port, unless the network is trusted."
            )
        }
    }

    private var memory: EngineFinding? {
        guard let policy = facts.information?["maxmemory_policy"] else { return nil }
        let limit = facts.number("maxmemory") ?? 0
        let words = limit == 0 ? "no limit, policy '\(policy)'" : "\(limit >> 20) MiB, policy '\(policy)'"
        let better = "CONFIG SET maxmemory-policy volatile-lru"
        if policy.hasPrefix("allkeys") {
            return finding(
                .warning,
                "memory",
                "\(words): the server may evict the log of purges, and all nodes then validate all stored responses.",
                remedy: "Run '\(better)': everything except the log has a time to live."
            )
        }
        guard expected.sharesResponses else { return finding(.ok, "memory", "\(words).") }
        if limit == 0 {
            return finding(
                .warning,
                "memory",
                "\(words): shared responses may use all of the machine's memory.",
                remedy: "Run 'CONFIG SET maxmemory 1gb', for example, and '\(better)'."
            )
        }
        if policy == "noeviction" {
            return finding(
                .warning,
                "memory",
                "\(words): once memory is full, the server accepts neither responses nor purges.",
                remedy: "Run '\(better)': old responses then make room for new ones."
            )
        }
        return finding(.ok, "memory", "\(words).")
    }

    private var persistence: EngineFinding? {
        guard let enabled = facts.number("aof_enabled") else { return nil }
        guard enabled == 1 else {
            return finding(
                .warning,
                "persistence",
                "No append-only file: a restart loses the log, and nodes that were cut off then validate all stored responses.",
                remedy: "Run 'CONFIG SET appendonly yes'."
            )
        }
        if facts.information?["aof_last_write_status"] == "err" {
            return finding(
                .error,
                "persistence",
                "The append-only file could not be written.",
                remedy: "Check the server's disk and log."
            )
        }
        let sync = facts.settings?["appendfsync"]
        if sync == "no" {
            return finding(
                .warning,
                "persistence",
                "The append-only file is not synced ('appendfsync no'): a power cut loses about half a minute of purges.",
                remedy: "Run 'CONFIG SET appendfsync everysec'."
            )
        }
        return finding(.ok, "persistence", "Append-only file\(sync.map { ", appendfsync \($0)" } ?? "").")
    }

    private var replicas: EngineFinding? {
        guard let count = facts.number("connected_slaves") else { return nil }
        let quorum = expected.quorum
        let least = facts.settings?["min-replicas-to-write"].flatMap { Int64($0) }
        let words = "\(count) \(count == 1 ? "replica" : "replicas"), 'fleet.quorum' is \(quorum)"
        if Int64(quorum) > count {
            return finding(
                .error,
                "replicas",
                "\(words): no contact is confirmed, and the journals keep every purge.",
                remedy: "Start replicas, or lower 'fleet.quorum' to \(count)."
            )
        }
        if let least, least > count {
            return finding(
                .error,
                "replicas",
                "\(words), and 'min-replicas-to-write' is \(least): the server rejects purges.",
                remedy: "Start replicas, or run 'CONFIG SET min-replicas-to-write \(count)'."
            )
        }
        if expected.validatesWhenCutOff, quorum == 0, count > 0 {
            return finding(
                .warning,
                "replicas",
                "\(words): with 'cut-off: validate', a primary that was replaced can still confirm contact.",
                remedy: "Set 'fleet.quorum' to \(count)."
            )
        }
        if quorum > 0, least == 0 {
            return finding(
                .warning,
                "replicas",
                "\(words), 'min-replicas-to-write' is 0: a primary that is cut off from its replicas still accepts purges.",
                remedy: "Run 'CONFIG SET min-replicas-to-write \(quorum)': purges then wait in the journals."
            )
        }
        return finding(.ok, "replicas", "\(words)\(least.map { ", 'min-replicas-to-write' is \($0)" } ?? "").")
    }

    // MARK: Rights

    private var rights: EngineFinding {
        let rule = ProbedCommand.rule(
            user: address.user,
            namespace: expected.namespace.text,
            sharesResponses: expected.sharesResponses,
            isCluster: facts.number("cluster_enabled") == 1
        )
        let user = "The user '\(address.user ?? "default")'"
        guard facts.denied.isEmpty, !facts.deniesKeys else {
            var parts: [String] = []
            if !facts.denied.isEmpty {
                parts.append("may not run \(facts.denied.sorted().joined(separator: ", "))")
            }
            if facts.deniesKeys { parts.append("may not use keys 'hf1:\(expected.namespace):*'") }
            return finding(
                .error,
                "rights",
                "\(user) \(parts.joined(separator: ", and ")).",
                remedy: "As an administrator of the server, run: \(rule)"
            )
        }
        return finding(.ok, "rights", "\(user) has all required rights. The minimum is: \(rule)")
    }

    private var writing: EngineFinding? {
        guard let word = facts.rejectedWrite else { return nil }
        let remedy: String
        switch word {
        case "OOM": remedy = "The server's memory is full. Raise 'maxmemory', or set 'maxmemory-policy volatile-lru'."
        case "MISCONF": remedy = "The server cannot save to its disk. Check its log."
        case "NOREPLICAS": remedy = "Too few replicas are connected. Start them, or lower 'min-replicas-to-write'."
        default: remedy = "The server is not a primary. Name the primary in 'fleet.url'."
        }
        return finding(.error, "writing", "The server rejects writes with '\(word)'.", remedy: remedy)
    }

    // MARK: Time

    private var clock: EngineFinding? {
        guard let offset = facts.clockOffset else { return nil }
        let seconds = "\(Double(abs(offset) / 100) / 10) s"
        let words = "The server's clock is \(seconds) \(offset < 0 ? "behind" : "ahead of") this machine's"
        let remedy = "Synchronize both clocks with a time server (NTP)."
        switch abs(offset) {
        case ...1000: return finding(.ok, "clock", "The clocks differ by \(abs(offset)) ms.")
        case ...60_000: return finding(.warning, "clock", "\(words).", remedy: remedy)
        default:
            return finding(
                .error,
                "clock",
                "\(words): ages and times in reports are off by the same amount.",
                remedy: remedy
            )
        }
    }

    private var latency: EngineFinding? {
        let pings = facts.pings.sorted()
        guard let last = pings.last else { return nil }
        func share(_ percent: Int) -> Duration { pings[min(pings.count * percent / 100, pings.count - 1)] }
        let words =
            "\(pings.count) pings: p50 \(Self.written(share(50))), p99 \(Self.written(share(99))), "
            + "longest \(Self.written(last)); 'fleet.timeout' is \(Self.written(expected.timeout))"
        guard share(99) < expected.timeout else {
            return finding(
                .warning,
                "latency",
                "\(words): peer lookups time out, and purges wait.",
                remedy: "Use a server that is closer or less busy, or raise 'fleet.timeout'."
            )
        }
        return finding(.ok, "latency", "\(words).")
    }

    /// Formats a duration such as `0.31 ms`.
    private static func written(_ duration: Duration) -> String {
        let hundredths = Int((duration / .milliseconds(1) * 100).rounded())
        return hundredths % 100 == 0
            ? "\(hundredths / 100) ms" : "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) ms"
    }
}
