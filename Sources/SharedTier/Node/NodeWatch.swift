/// Watches the rows that may be of this node's own past, or of another process in its place.
///
/// A store has one process at a time. So a row of this store's identity is of an earlier process,
/// which has ended, or of a process on a copy of the store. The latter reports, and an earlier one
/// does not. No clock of another machine is believed.
struct NodeWatch: Sendable {
    /// The findings of one poll.
    struct Findings: Sendable, Hashable {
        /// Rows of earlier processes of this store.
        var ended: [NodeRow] = []
        /// A living process on a copy of this store.
        var twin: NodeIdentity?
        /// Living nodes with this one's name.
        var namesakes: [NodeIdentity] = []
    }

    private struct Sight {
        var row: NodeRow
        var since: Duration
        var hasMoved = false
    }

    private var sights: [NodeIdentity: Sight] = [:]

    /// - Parameters:
    ///   - lease: how long a row must not change until its process counts as ended. Clocks may
    ///     differ in rate by two percent.
    ///   - now: by a clock that is never set.
    mutating func look(
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
