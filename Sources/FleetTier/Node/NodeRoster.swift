import HTTPCache

/// The nodes of a fleet, as this node has seen them.
///
/// The log may lose the rows of nodes along with everything else. The nodes keep serving, so a row
/// counts until a newer row replaces it. Lost rows are written to the log again, as purges are from
/// the journals, so that nodes that start later also see them.
struct NodeRoster: Sendable {
    /// The maximum number of rows to remember. The most recently seen rows stay.
    static let limit = 1024
    /// How long a row counts without being renewed. The log's rows are removed after the same time.
    static let lifetime = Duration.seconds(7 * 24 * 3600)

    private var known: [NodeIdentity: NodeRow] = [:]
    /// The processes in the notes that the store keeps.
    private var kept: Set<NodeIdentity> = []

    /// All rows, sorted by name.
    var rows: [NodeRow] { known.values.inOrder }

    init() {}

    /// - Parameter notes: the result of ``notes`` in an earlier process. Lines that cannot be read
    ///   are omitted.
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

    /// The rows, for the store to keep; `nil` if the kept notes name the same processes. With the
    /// notes, a restart while the log is lost forgets no node.
    mutating func notes() -> [UInt8]? {
        let living = living
        guard living != kept else { return nil }
        kept = living
        return Array(rows.map { "\($0.report.identity) \($0.encoded)\n" }.joined().utf8)
    }

    /// Accepts the log's rows.
    ///
    /// - Parameter now: by the clock of the log's server.
    /// - Returns: the rows that the log has lost.
    mutating func note(_ present: [NodeRow], at now: EngineTime) -> [NodeRowChange] {
        var lost = known
        var changes: [NodeRowChange] = []
        for row in present {
            let earlier = lost.removeValue(forKey: row.report.identity)
            // Another node did not know that the process had ended and wrote its row again, or it
            // was a process of this store that ended cleanly.
            if let earlier, earlier.report.hasEnded, earlier.seenAt >= row.seenAt, !row.report.hasEnded {
                changes.append(end(row))
            } else {
                known[row.report.identity] = row
            }
        }
        // A later row comes from a server whose clock was wrong, or from a process that ended
        // cleanly.
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

    /// Later than every report of a process that ended cleanly.
    private static let atLast = EngineTime(milliseconds: .max)

    /// Notes that this process ends. A copy of its store that is made later starts without this
    /// row.
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
