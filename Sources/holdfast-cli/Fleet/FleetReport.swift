import CommandLineSupport
import FleetTier
import HTTPCache
import HTTPCacheOperations
import Holdfast

/// The nodes of a fleet, for people and programs.
struct FleetReport: Encodable {
    /// An epoch that is still in the log.
    struct Epoch: Encodable {
        /// A string, because many programs parse JSON numbers as floating point.
        var epoch: String
        var name: String
        var beganAt: String
        var inherited: String?
    }

    /// The maximum number of epochs shown.
    static let mostEpochs = 16
    /// The number of seconds without a report after which a node is considered silent.
    static let silentSeconds: Int64 = 10

    var summary = ""
    let source: String
    /// The gateway that was queried.
    var node: String?
    var state: String?
    var position: String?
    var behind: Int64?
    var contactSeconds: Double?
    var waiting: Int?
    var problem: String?
    var epochs: Int?
    var gaps: Int?
    var unopened: Int64?
    var nodes: [FleetState.Node]
    var history: [Epoch]?

    /// Creates a report from a gateway's state.
    init(_ fleet: FleetState) {
        source = "gateway"
        node = fleet.node
        state = fleet.state
        position = fleet.position
        behind = fleet.behind
        contactSeconds = fleet.contactSeconds
        waiting = fleet.waiting
        problem = fleet.problem
        epochs = fleet.epochs
        gaps = fleet.gaps
        unopened = fleet.unopened
        nodes = fleet.nodes ?? []
        summary = makeSummary()
    }

    /// Creates a report from the server's data.
    init(rows: [NodeRow], at now: EngineTime, end: LogPosition?, epochs: [LogEpochReport]) {
        source = "server"
        position = end.map { "\($0)" }
        nodes = rows.filter { !$0.report.hasEnded }.map { FleetState.Node($0, at: now, end: end) }
        history = epochs.map { epoch in
            Epoch(
                epoch: "\(epoch.epoch.number)",
                name: "\(epoch.epoch.name)",
                beganAt: Instant.text(Timestamp(milliseconds: epoch.beganAt.milliseconds)),
                inherited: epoch.inherited.map { "\($0)" }
            )
        }
        summary = makeSummary()
    }

    private func makeSummary() -> String {
        if let state, state != "following" {
            return "'\(node ?? "")' is \(state)\(problem.map { ": \($0.withoutFullStop)" } ?? ""). "
                + "Purges of other nodes arrive late."
        }
        let silent = nodes.filter(Self.isSilent).count
        let behind = nodes.filter { !Self.isSilent($0) && $0.behind != 0 }.count
        let locked = nodes.filter { $0.unopened != nil }.count + (unopened == nil ? 0 : 1)
        let unsent = nodes.filter { $0.waiting > 0 }.count + (waiting ?? 0 > 0 ? 1 : 0)
        let count = nodes.count + (node == nil ? 0 : 1)
        guard count > 0 else { return "No node has reported yet." }
        let problems = [
            silent > 0 ? "\(silent) silent" : nil, behind > 0 ? "\(behind) behind" : nil,
            unsent > 0 ? "\(unsent) with unsent purges" : nil,
            locked > 0 ? "\(locked) with another secret" : nil,
            sameNames.isEmpty ? nil : "several named '\(sameNames[0])'",
        ].compactMap { $0 }
        let words = "\(count) \(count == 1 ? "node" : "nodes")"
        return problems.isEmpty ? "\(words), all up to date." : "\(words): \(problems.joined(separator: ", "))."
    }

    /// The names that more than one node uses.
    private var sameNames: [String] {
        let names = nodes.map(\.name) + (node.map { [$0] } ?? [])
        return Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
    }

    private static func isSilent(_ node: FleetState.Node) -> Bool { node.seenSeconds >= silentSeconds }

    /// The report as human-readable lines.
    var text: String {
        var lines = [summary]
        if let node {
            let own = FleetWords.own(
                state: state ?? "",
                position: position,
                behind: behind,
                contact: contactSeconds,
                waiting: waiting ?? 0,
                problem: problem
            )
            let locked = unopened.map { ", \(LogEntry.counted($0)) sealed with another secret" } ?? ""
            lines.append("  \(node.padded(16))  this node, \(own)\(locked)")
        }
        for node in nodes {
            let silence = Self.isSilent(node) ? "silent (stopped or cut off); " : ""
            var version = node.version.isEmpty ? "" : ", version \(node.version)"
            if sameNames.contains(node.name), let identity = node.identity { version += ", identity \(identity)" }
            lines.append("  \(node.name.padded(16))  \(silence)\(FleetWords.other(node))\(version)")
        }
        if let epochs, let gaps {
            lines.append(
                "  since its start   epochs begun: \(epochs); gaps, each of which expired all responses: \(gaps)"
            )
        }
        if node == nil, let position { lines.append("  end of the log    \(position)") }
        for epoch in history ?? [] {
            let rest =
                epoch.inherited.map { "with the log up to \($0)" }
                ?? "without a log (a new server, or one that lost its data)"
            lines.append("  epoch             \(epoch.epoch) began at \(epoch.beganAt) \(rest)")
        }
        return lines.map(\.printable).joined(separator: "\n")
    }
}

/// Describes the state of nodes in words.
enum FleetWords {
    static func own(
        state: String,
        position: String?,
        behind: Int64?,
        contact: Double?,
        waiting: Int,
        problem: String?
    ) -> String {
        let contact = contact.map { ", last contact \(Int($0)) s ago" } ?? ", no contact yet"
        let place = position.map { " at \($0)" } ?? ""
        let problem = problem.map { " (\($0))" } ?? ""
        let left = behind.map { ", \(LogEntry.counted($0)) of the log left to read" } ?? ""
        return "\(state)\(place)\(left)\(contact), \(waiting) waiting\(problem)"
    }

    static func other(_ node: FleetState.Node) -> String {
        var lag = node.behind.map { "\($0) behind" } ?? "in another epoch"
        if let unopened = node.unopened { lag += ", \(LogEntry.counted(unopened)) sealed with another secret" }
        return "seen \(node.seenSeconds) s ago, \(lag), \(node.waiting) waiting"
    }
}

extension String {
    /// The text without a final period, for use within a sentence.
    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
