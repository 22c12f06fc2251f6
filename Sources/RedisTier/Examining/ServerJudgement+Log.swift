import FleetTier

extension ServerJudgement {
    /// The findings about the log of purges.
    var log: [EngineFinding] {
        guard facts.hasLookedAtLog else { return [] }
        guard let log = facts.log else {
            return [
                EngineFinding(
                    .ok,
                    "log",
                    server: "\(facts.endpoint)",
                    "The namespace '\(expected.namespace)' has no log yet. The first node starts it."
                )
            ]
        }
        return [state(log), reach(log), secret(log)].compactMap { $0 }
            + names(log) + nodesBehind(log) + secretsOfNodes(log)
    }

    private func state(_ log: ServerFacts.LogFacts) -> EngineFinding {
        let server = "\(facts.endpoint)"
        guard let epoch = log.epoch, log.count > 0 else {
            return EngineFinding(
                .warning,
                "log",
                server: server,
                "The log was lost or evicted. The nodes start a new log and publish the purges in their journals again.",
                remedy: "Find out what flushes the server, and see 'memory' and 'persistence' above."
            )
        }
        let nodes = "\(log.rows.count) \(log.rows.count == 1 ? "node" : "nodes")"
        let began =
            log.isOfThisServer
            ? ""
            : " The epoch began on another server, or before this server restarted. "
                + "The next node that connects starts a new epoch."
        return EngineFinding(
            .ok,
            "log",
            server: server,
            "\(LogEntry.counted(log.count)), \(nodes), epoch \(epoch).\(began)"
        )
    }

    /// Returns the finding about the log's age. Shared responses that are older than the log cannot
    /// be checked against it, so they are not used.
    private func reach(_ log: ServerFacts.LogFacts) -> EngineFinding? {
        guard let first = log.firstAt, let now = log.now else { return nil }
        let seconds = max(0, now.elapsedMilliseconds(since: first) / 1000)
        let server = "\(facts.endpoint)"
        let longest = expected.longest.components.seconds
        guard log.isTrimmed, seconds < longest, expected.sharesResponses else {
            return EngineFinding(.ok, "reach", server: server, "The log reaches back \(Self.written(seconds)).")
        }
        return EngineFinding(
            .warning,
            "reach",
            server: server,
            "The log reaches back \(Self.written(seconds)), and responses are shared for \(Self.written(longest)) "
                + "('fleet.longest'): older responses are not used.",
            remedy: "Raise 'fleet.retention.entries', or lower 'fleet.longest'."
        )
    }

    private func secret(_ log: ServerFacts.LogFacts) -> EngineFinding? {
        guard log.openedCount > 0 else { return nil }
        let server = "\(facts.endpoint)"
        guard log.unreadableCount > 0 else {
            let purges = log.openedCount == 1 ? "purge" : "\(log.openedCount) purges"
            return EngineFinding(.ok, "secret", server: server, "The last \(purges) can be opened.")
        }
        let isNone = log.unreadableCount == log.openedCount
        return EngineFinding(
            isNone ? .error : .warning,
            "secret",
            server: server,
            "\(log.unreadableCount) of the last \(log.openedCount) purges cannot be opened because they are sealed with a different secret.",
            remedy: Self.rotation
        )
    }

    private static let rotation =
        "Set the same 'fleet.secret' on all nodes, the old secret as 'fleet.previous-secret', and the next one as "
        + "'fleet.next-secret'."

    /// Returns the findings about nodes with different identities and the same name.
    private func names(_ log: ServerFacts.LogFacts) -> [EngineFinding] {
        Dictionary(grouping: log.rows, by: \.report.name).filter { $0.value.count > 1 }
            .sorted { $0.key < $1.key }
            .map { name, rows in
                let places = rows.map { row in
                    "\(row.report.identity) \(log.now.map { "seen \(row.secondsAgo(at: $0)) s ago" } ?? "")"
                }
                return EngineFinding(
                    .warning,
                    "nodes",
                    server: "\(facts.endpoint)",
                    "\(rows.count) nodes are named '\(name)': \(places.joined(separator: ", ")). A purge counts as applied everywhere "
                        + "only once all of them have applied it.",
                    remedy: "Set a different 'fleet.node' on each. A node that has not been seen for a long time "
                        + "used another store; its row is removed after 7 days."
                )
            }
    }

    /// Returns the findings about nodes that are more than a page behind the log. A node that
    /// follows the log reports every second, so a few entries are no finding.
    private func nodesBehind(_ log: ServerFacts.LogFacts) -> [EngineFinding] {
        guard let last = log.last else { return [] }
        return log.rows.compactMap { row in
            let behind = row.report.applied.distance(to: last)
            guard behind.map({ $0 > LogBatch.mostEntries }) ?? true else { return nil }
            let seen = log.now.map { ", seen \(row.secondsAgo(at: $0)) s ago" } ?? ""
            let count = behind.map { LogEntry.counted($0) } ?? "an unknown number of entries"
            return EngineFinding(
                .warning,
                "nodes",
                server: "\(facts.endpoint)",
                "The node '\(row.report.name)' is catching up with the log or cut off: it is \(count) behind\(seen).",
                remedy: "Wait if the number falls. If it does not, run 'holdfast fleet status' there, and compare "
                    + "'latency' above with 'fleet.timeout'."
            )
        }
    }

    private func secretsOfNodes(_ log: ServerFacts.LogFacts) -> [EngineFinding] {
        log.rows.filter { $0.report.unopened > 0 }
            .map { row in
                EngineFinding(
                    .error,
                    "secret",
                    server: "\(facts.endpoint)",
                    "The node '\(row.report.name)' cannot open \(LogEntry.counted(row.report.unopened)), "
                        + "so it has not applied every purge.",
                    remedy: Self.rotation
                )
            }
    }

    /// Formats a duration such as `3 h 20 min`.
    private static func written(_ seconds: Int64) -> String {
        if seconds < 60 { return "\(seconds) s" }
        let minutes = seconds / 60
        if minutes < 60 { return "\(minutes) min" }
        return minutes % 60 == 0 ? "\(minutes / 60) h" : "\(minutes / 60) h \(minutes % 60) min"
    }
}
