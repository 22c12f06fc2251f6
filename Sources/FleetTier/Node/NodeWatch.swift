/// Watches the rows that may belong to earlier processes of this node, or to another process with
/// its identity.
///
/// A store is open in one process at a time. So a row with this store's ID belongs either to an
/// earlier process, which has ended, or to a process on a copy of the store. Only the latter still
/// sends reports. The check trusts no other machine's clock.
struct NodeWatch: Sendable {
    /// The findings of one check.
    struct Findings: Sendable, Hashable {
        /// Rows of earlier processes of this store.
        var ended: [NodeRow] = []
        /// A running process on a copy of this store.
        var twin: NodeIdentity?
        /// Running nodes with this node's name.
        var namesakes: [NodeIdentity] = []
    }

    private struct Sight {
        var row: NodeRow
        var since: Duration
        var hasMoved = false
    }

    private var sights: [NodeIdentity: Sight] = [:]

    /// - Parameters:
    ///   - lease: the time for which a row must stay unchanged before its process counts as ended.
    ///     Clock rates may differ by two percent.
    ///   - now: the time on a monotonic clock.
    mutating func observe(
        at rows: [NodeRow],
        own: NodeIdentity,
        name: NodeName,
        lease: Duration,
        now: Duration
    ) -> Findings {
        var findings = Findings()
        var seen: [NodeIdentity: Sight] = [:]
        for row in rows where row.report.identity != own && !row.report.hasEnded {
            let identity = row.report.identity
            guard identity.store == own.store || row.report.name == name else { continue }
            var sight = sights[identity] ?? Sight(row: row, since: now)
            if sight.row.seenAt != row.seenAt { sight = Sight(row: row, since: now, hasMoved: true) }
            sight.row = row
            seen[identity] = sight
            switch (identity.store == own.store, sight.hasMoved) {
            case (true, true): findings.twin = identity
            case (true, false): if now - sight.since > lease * 1.02 { findings.ended.append(row) }
            case (false, true): findings.namesakes.append(identity)
            case (false, false): break
            }
        }
        sights = seen
        return findings
    }
}
