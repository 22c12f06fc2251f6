import FleetTier
import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// Examines one server. All of its replies together may take up to four times the limit for one
/// reply.
struct ExaminedServer: Sendable {
    let connection: RedisConnection
    let replyLimit: TimeAmount
    let now: @Sendable () -> Timestamp
    private let end: NIODeadline

    init(connection: RedisConnection, replyLimit: TimeAmount, now: @escaping @Sendable () -> Timestamp) {
        self.connection = connection
        self.replyLimit = replyLimit
        self.now = now
        end = .now() + replyLimit * 4
    }

    private func perform(_ command: RedisCommand) async throws(RedisTierError) -> RESPValue {
        try await connection.execute(command, within: min(replyLimit, end - .now()))
    }

    // MARK: State

    func ask(_ facts: inout ServerFacts) async throws(RedisTierError) {
        facts.information = try await perform(RedisCommand("INFO")).text.map { ServerFacts.lines($0) }
        facts.settings = ServerFacts.pairs(
            try await perform(RedisCommand("CONFIG", "GET", "appendfsync", "min-replicas-to-write"))
        )
        var shortest = Int64.max
        for _ in 0..<5 {
            let start = now().milliseconds
            guard let time = try? LogReplies.time(try await perform(RedisCommand("TIME"))) else { return }
            let duration = now().milliseconds - start
            guard duration < shortest else { continue }
            shortest = duration
            facts.clockOffset = time.milliseconds - (start + duration / 2)
        }
    }

    func ping(_ facts: inout ServerFacts) async throws(RedisTierError) {
        let clock = ContinuousClock()
        let start = clock.now
        while facts.pings.count < RedisExaminer.pingCount, clock.now - start < RedisExaminer.pingLimit {
            let sent = clock.now
            guard case .simpleString = try await perform(RedisCommand("PING")) else { return }
            facts.pings.append(clock.now - sent)
        }
    }

    // MARK: Rights

    /// Tries RedisTier's commands on a key, and then removes the key.
    func probe(
        _ facts: inout ServerFacts,
        key: RedisCommand.Argument,
        hasLog: Bool,
        _ expected: RedisExaminer.Expectations,
        isCluster: Bool
    ) async throws(RedisTierError) {
        let isText = try await attempt(.make(key), &facts)
        var commands = ProbedCommand.common(key)
        if hasLog { commands += ProbedCommand.log(key, isText: isText) }
        if expected.sharesResponses { commands += ProbedCommand.values(key) }
        if isCluster { commands += ProbedCommand.cluster }
        for command in commands { _ = try await attempt(command, &facts) }
        _ = try await attempt(.remove(key), &facts)
    }

    /// - Returns: whether the command was executed.
    private func attempt(_ probed: ProbedCommand, _ facts: inout ServerFacts) async throws(RedisTierError) -> Bool {
        guard case .error(let error) = try await perform(probed.command) else { return true }
        switch error.code {
        // If the error mentions a key, the user may run the command but has no access to the
        // fleet's keys.
        case "NOPERM" where error.text.contains(" key"): facts.deniesKeys = true
        case "NOPERM": facts.denied.append(probed.name)
        case "OOM", "MISCONF", "NOREPLICAS", "READONLY": facts.rejectedWrite = facts.rejectedWrite ?? String(error.code)
        // The server's configuration has renamed or disabled this command.
        case "ERR" where error.text.lowercased().hasPrefix("err unknown"): facts.denied.append(probed.name)
        default: break
        }
        return false
    }

    // MARK: The log

    func lookAtLog(
        _ facts: inout ServerFacts,
        _ keys: LogKeys,
        _ opens: @Sendable ([UInt8]) -> Bool
    ) async throws(RedisTierError) {
        let stream = try await perform(RedisCommand("XINFO", "STREAM", keys.log))
        let epoch = try await perform(RedisCommand("HMGET", keys.epoch, "epoch", "run"))
        let rows = try await perform(RedisCommand("HGETALL", keys.nodes))
        let time = try await perform(RedisCommand("TIME"))
        let last = try await perform(
            RedisCommand("XREVRANGE", keys.log, "+", "-", "COUNT", .integer(RedisExaminer.openedCount))
        )
        // If the user lacks the necessary rights, the state of the log is unknown.
        guard case .array(let meta) = epoch, meta.count == 2 else { return }
        facts.hasLookedAtLog = true
        var log = ServerFacts.LogFacts()
        log.epoch = meta[0].text
        log.isOfThisServer = meta[1].text != nil && meta[1].text == facts.information?["run_id"]
        log.now = try? LogReplies.time(time)
        log.rows = ((try? LogReplies.rows(rows)) ?? []).filter { !$0.report.hasEnded }
        for entry in stream.entries ?? [] {
            switch (entry.key.text, entry.value) {
            case ("length", .integer(let count)): log.count = Int(clamping: count)
            case ("first-entry", let value):
                guard let first = try? LogReplies.range(.array([value])).first else { continue }
                log.firstAt = first.addedAt
                if case .marker(let marker) = first.content {
                    log.isTrimmed = marker.inherited != nil
                } else {
                    log.isTrimmed = true
                }
            default: break
            }
        }
        let newest = (try? LogReplies.range(last)) ?? []
        log.last = newest.first?.position
        for entry in newest {
            guard case .purge(let sealed) = entry.content else { continue }
            log.openedCount += 1
            if !opens(sealed) { log.unreadableCount += 1 }
        }
        facts.log = log.epoch == nil && log.count == 0 ? nil : log
    }
}
