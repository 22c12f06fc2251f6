package import HTTPCache
package import HTTPCacheOperations

/// The progress of a fleet's nodes in applying the log up to a position.
package struct NodeProgress: Sendable, Hashable {
    package var nodes: PurgeReach.Nodes

    /// Whether every node has applied the log up to the position.
    package var isEverywhere: Bool { nodes.behind == 0 }

    /// Counts the nodes. The calling node counts as one that has applied everything, whatever its
    /// row says.
    ///
    /// - Parameters:
    ///   - rows: the rows of all nodes.
    ///   - own: the identity of the calling node.
    ///   - now: the time on the server's clock.
    ///   - lease: the time for which a contact counts. Clock rates may differ by two percent.
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
        // Sort the nodes that have not been seen for the longest time first, because they are the
        // likely reason for the wait.
        waiting.sort { ($1.seenSeconds, $0.node) < ($0.seenSeconds, $1.node) }
        nodes = PurgeReach.Nodes(applied: applied, waiting: waiting)
    }
}

extension NodeRow {
    /// Returns the seconds since the report.
    package func secondsAgo(at now: EngineTime) -> Int64 { max(0, now.elapsedMilliseconds(since: seenAt) / 1000) }
}

extension LogPosition {
    /// Returns the number of entries from this position to another; `nil` if the other position is
    /// in another epoch.
    package func distance(to end: LogPosition) -> Int64? {
        guard epoch == end.epoch else { return nil }
        return number >= end.number ? 0 : Int64(clamping: end.number - number)
    }
}
