import HTTPCache

/// The nodes of a fleet, as this one has seen them.
///
/// The log may lose the rows of nodes with everything else. A node that was there keeps serving
/// all the same, so its row counts until another one says otherwise. Rows that the log has lost
/// are written to it again, as purges are from the journals: nodes that start later see them, too.
struct NodeRoster: Sendable {
    /// The most rows that are remembered. Those that were seen last stay.
    static let limit = 1024
    /// How long a row counts that is not renewed. The log's rows are removed after the same time.
    static let lifetime = Duration.seconds(7 * 24 * 3600)

    private var known: [NodeIdentity: NodeRow] = [:]
    /// The processes that were kept beside the store the last time.
    private var kept: Set<NodeIdentity> = []

    /// All rows, in the order of their names.
    var rows: [NodeRow] { known.values.inOrder }

    init() {}

    /// - Parameter notes: of ``notes``, of an earlier process. Lines that cannot be read are left
    ///   out.
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

    /// The rows, to be kept beside the store; `nil` if the same processes were kept the last time.
    /// So a restart at a moment at which the log is lost forgets no node.
    mutating func notes() -> [UInt8]? {
        let living = living
        guard living != kept else { return nil }
        kept = living
        return Array(rows.map { "\($0.report.identity) \($0.encoded)\n" }.joined().utf8)
    }

    /// Takes the log's rows.
    ///
    /// - Parameter now: by the clock of the log's server.
    /// - Returns: what the log has lost.
    mutating func note(_ present: [NodeRow], at now: EngineTime) -> [NodeRowChange] {
        var lost = known
        var changes: [NodeRowChange] = []
        for row in present {
            let earlier = lost.removeValue(forKey: row.report.identity)
            // Another node did not know that the process had ended, and has written the row again;
            // or it was this store's, and ended in order.
            if let earlier, earlier.report.hasEnded, earlier.seenAt >= row.seenAt, !row.report.hasEnded {
                changes.append(end(row))
            } else {
                known[row.report.identity] = row
            }
        }
        // A later row is of a server whose clock was wrong, or of a process that ended in order.
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

    /// Behind every report of a process that has ended in order.
    private static let atLast = EngineTime(milliseconds: .max)

    /// Notes that this process ends. A copy of its store that is made later begins without it.
    mutating func end(_ report: NodeReport) {
        var ended = report
        ended.hasEnded = true
        known[report.identity] = NodeRow(report: ended, seenAt: Self.atLast)
        kept.insert(report.identity)
    }

    /// Notes that a process has ended.
    mutating func end(_ row: NodeRow) -> NodeRowChange {
        var ended = row
        ended.report.hasEnded = true
        known[row.report.identity] = ended
        return NodeRowChange(ended, insteadOf: row)
    }
}
