package import HTTPCache

/// How far the nodes of a fleet have applied the log up to a position.
package struct NodeProgress: Sendable, Hashable {
    package var nodes: PurgeReach.Nodes

    /// Whether nothing behind the position is served as fresh by any node.
    package var isEverywhere: Bool { nodes.behind == 0 }

    /// The node that asks has performed its own purges, so its own row does not matter.
    ///
    /// - Parameters:
    ///   - rows: of all nodes.
    ///   - own: the identity of the node that asks.
    ///   - now: by the clock of that server.
    ///   - lease: how long a contact counts. Clocks may differ in rate by two percent.
    package init(
        _ rows: [NodeRow],
        own: NodeIdentity?,
        position: LogPosition,
        at now: EngineTime,
        cutOff: CutOff,
        lease: Duration
    ) {
        var applied = 1
        var waiting: [PurgeReach.WaitingNode] = []
        for row in rows where row.report.identity != own && !row.report.hasEnded {
            let hasStopped = cutOff == .validate && row.seenAt.adding(lease * 1.02) < now
            if row.report.applied >= position || hasStopped {
                applied += 1
                continue
            }
            waiting.append(
                PurgeReach.WaitingNode(
                    node: row.report.name.text,
                    seenSeconds: row.secondsAgo(at: now),
                    behind: row.report.applied.distance(to: position),
                    unopened: row.report.unopened == 0 ? nil : Int64(clamping: row.report.unopened)
                )
            )
        }
        // Those that are away for long come first: they are the reason.
        waiting.sort { ($1.seenSeconds, $0.node) < ($0.seenSeconds, $1.node) }
        nodes = PurgeReach.Nodes(applied: applied, waiting: waiting)
    }
}

extension NodeRow {
    /// The seconds since the report.
    package func secondsAgo(at now: EngineTime) -> Int64 { max(0, now.elapsedMilliseconds(since: seenAt) / 1000) }
}

extension LogPosition {
    /// The entries from here to another position; `nil` if it is in another epoch.
    package func distance(to end: LogPosition) -> Int64? {
        guard epoch == end.epoch else { return nil }
        return number >= end.number ? 0 : Int64(clamping: end.number - number)
    }
}
