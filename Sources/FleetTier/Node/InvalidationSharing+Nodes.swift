import HTTPCache
import Logging

/// The node rows of the fleet.
extension InvalidationSharing {
    func report(_ follower: Follower, as identity: NodeIdentity) -> NodeReport {
        NodeReport(
            identity: identity,
            name: settings.node,
            applied: follower.applied,
            unpublished: UInt64(status.waiting),
            unopened: follower.hold?.count ?? 0,
            version: settings.version
        )
    }

    /// Marks this process as ended before its store is closed, so that the next process on the
    /// store replaces its row immediately. Until then, the other nodes wait for this process.
    package func end() async {
        guard let identity, let follower, !isEnding else { return }
        isEnding = true
        roster.end(report(follower, as: identity))
        if let notes = roster.notes() { try? await log.remember(notes) }
    }

    /// Checks the rows of all nodes: restores rows that the log has lost, marks the rows of this
    /// node's earlier processes as ended, and detects whether another process uses this node's
    /// identity.
    ///
    /// - Parameter follower: a follower whose position is durable.
    func tendNodes(in epoch: UInt64, at follower: Follower) async throws {
        guard let identity, !isEnding else { return }
        let rows = try await engine.nodes(within: settings.timeout)
        var changes = roster.note(rows, at: engineTime)
        let findings = watch.observe(
            at: rows,
            own: identity,
            name: settings.node,
            lease: settings.lease,
            now: uptime()
        )
        changes += findings.ended.map { roster.end($0) }
        // If two processes run on copies of the same store, the one with the higher process ID
        // takes a new identity.
        if let twin = findings.twin, identity.process > twin.process {
            changes += try await takeNewIdentity(instead: identity, rows, in: epoch, at: follower)
        }
        note(namesakes: findings.namesakes)
        // A full disk must not stop this node from following the log.
        if !isEnding, let notes = roster.notes() { try? await log.remember(notes) }
        while !changes.isEmpty {
            try await engine.amend(
                Array(changes.prefix(NodeRowChange.most)),
                in: epoch,
                within: settings.timeout
            )
            changes.removeFirst(min(NodeRowChange.most, changes.count))
        }
    }

    /// Takes a new identity.
    ///
    /// - Returns: the change that ends the old identity's row.
    private func takeNewIdentity(
        instead old: NodeIdentity,
        _ rows: [NodeRow],
        in epoch: UInt64,
        at follower: Follower
    ) async throws -> [NodeRowChange] {
        let new = NodeIdentity(store: try await log.renewNode(), process: old.process)
        setIdentity(new)
        logger.warning(
            "another process runs on a copy of this node's store; this node generated a new identity",
            metadata: ["fleet.node": "\(settings.node)", "fleet.identity": "\(new)"]
        )
        // The new row is written before the old row ends, so that this node is never missing from
        // the log.
        try await engine.announce(report(follower, as: new), in: epoch, within: settings.timeout)
        return rows.filter { $0.report.identity == old }.map { roster.end($0) }
    }

    private func note(namesakes: [NodeIdentity]) {
        let known = status.namesakes
        status.setNamesakes(namesakes.map { "\($0)" })
        guard known.isEmpty, let first = namesakes.first else { return }
        logger.warning(
            "another node has the same name; set a different 'fleet.node' on each",
            metadata: ["fleet.node": "\(settings.node)", "fleet.identity": "\(first)"]
        )
    }
}
