import HTTPCache

/// The nodes of a fleet, as this node has seen them.
///
/// The log may lose node rows along with everything else. The nodes keep serving, so a row counts
/// until a newer row replaces it. Lost rows are written to the log again, like purges from the
/// journals, so that nodes that start later also see them.
struct NodeRoster: Sendable {
    /// The maximum number of remembered rows. The most recently seen rows are kept.
    static let limit = 1024
    /// The time for which a row counts without being renewed. The log removes its rows after the
    /// same time.
    static let lifetime = Duration.seconds(7 * 24 * 3600)

    private var known: [NodeIdentity: NodeRow] = [:]
    /// The running processes in the notes that the store saved last.
    private var kept: Set<NodeIdentity> = []

    /// All rows, sorted by name.
    var rows: [NodeRow] { known.values.inOrder }

    init() {}

    /// - Parameter notes: the result of ``notes()`` in an earlier process. Unreadable lines are
    ///   skipped.
    init(notes: [UInt8]) {
        for line in notes.split(separator: UInt8(ascii: "\n")).prefix(Self.limit) {
            let text = String(decoding: line, as: UTF8.self)
            guard let first = text.firstIndex(of: " "), let last = text.lastIndex(of: " "), first < last,
                let identity = NodeIdentity(text[..<first]),
                let time = LogPosition.number(text[text.index(after: last)...].utf8).flatMap({ Int64(exactly: $0) }),
                let report = NodeReport(identity: identity, encoded: text[text.index(after: first)..<last])
            else { continue }
            known[identity] = NodeRow(report: report, seenAt: EngineTime(milliseconds: time))
        }
        kept = living
    }

    private var living: Set<NodeIdentity> { Set(known.values.filter { !$0.report.hasEnded }.map(\.report.identity)) }

    /// Returns the rows in the format that the store saves; `nil` if the saved notes already list
    /// the same running processes. With these notes, a node that restarts after the log was lost
    /// still knows every node.
    mutating func notes() -> [UInt8]? {
        let living = living
        guard living != kept else { return nil }
        kept = living
        return Array(rows.map { "\($0.report.identity) \($0.encoded)\n" }.joined().utf8)
    }

    /// Adds the log's rows to the roster.
    ///
    /// - Parameter now: the time on the server's clock.
    /// - Returns: the changes that write lost rows again, and end the rows of processes that have
    ///   ended.
    mutating func note(_ present: [NodeRow], at now: EngineTime) -> [NodeRowChange] {
        var lost = known
        var changes: [NodeRowChange] = []
        for row in present {
            let earlier = lost.removeValue(forKey: row.report.identity)
            // The process has ended, but another node did not know this and wrote its row again. Or
            // the process used this store and ended cleanly.
            if let earlier, earlier.report.hasEnded, earlier.seenAt >= row.seenAt, !row.report.hasEnded {
                changes.append(end(row))
            } else {
                known[row.report.identity] = row
            }
        }
        // A row too far in the future comes from a server whose clock was wrong, or from a process
        // that ended cleanly.
        let (oldest, latest) = (now.adding(.zero - Self.lifetime), now.adding(Self.lifetime))
        for row in lost.values.inOrder {
            if row.seenAt < oldest || row.seenAt > latest {
                known[row.report.identity] = nil
            } else {
                changes.append(NodeRowChange(row))
            }
        }
        if known.count > Self.limit {
            let young = known.values.sorted { $0.seenAt > $1.seenAt }.prefix(Self.limit)
            known = Dictionary(uniqueKeysWithValues: young.map { ($0.report.identity, $0) })
        }
        return changes
    }

    /// A time after every report of a process that ended cleanly.
    private static let atLast = EngineTime(milliseconds: .max)

    /// Records that this process is ending. A later copy of its store starts without this row.
    mutating func end(_ report: NodeReport) {
        var ended = report
        ended.hasEnded = true
        known[report.identity] = NodeRow(report: ended, seenAt: Self.atLast)
        kept.insert(report.identity)
    }

    /// Records that another process has ended.
    mutating func end(_ row: NodeRow) -> NodeRowChange {
        var ended = row
        ended.report.hasEnded = true
        known[row.report.identity] = ended
        return NodeRowChange(ended, insteadOf: row)
    }
}
