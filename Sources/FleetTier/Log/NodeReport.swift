package import HTTPCache
import HTTPCacheSemantics

/// The name of a node in a fleet: 1 to 64 letters, digits, `.`, `_`, `:` and `-`.
package struct NodeName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isNodeNameByte) else { return nil }
        self.text = text
    }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// The name of a fleet on a server, which several fleets may share: 1 to 64 letters, digits, `.`,
/// `_` and `-`.
package struct FleetNamespace: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isNameByte) else { return nil }
        self.text = text
    }

    package var description: String { text }
}

/// Identifies a node: the store and the process. Several nodes may have the same name, and a copy
/// of a store has the original's ID, so both parts are needed.
package struct NodeIdentity: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The store's ID, created when the store first joins a log. It survives restarts.
    package var store: PurgeID
    /// The process's ID, chosen at random at startup.
    package var process: UInt64

    package init(store: PurgeID, process: UInt64) {
        self.store = store
        self.process = process
    }

    /// Creates an identity from `<32 hexadecimal digits>.<16 hexadecimal digits>`; returns `nil`
    /// for any other text.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let store = SixteenBytes(hex: parts[0].utf8).flatMap({ PurgeID($0.bytes) }),
            let process = SixteenBytes(hex: Array(repeating: UInt8(ascii: "0"), count: 16) + Array(parts[1].utf8))
        else { return nil }
        self.init(store: store, process: process.bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    package var description: String {
        let digits = String(process, radix: 16)
        return "\(store).\(String(repeating: "0", count: 16 - digits.count))\(digits)"
    }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}

/// The state that a node reports to the other nodes.
package struct NodeReport: Sendable, Hashable {
    package var identity: NodeIdentity
    package var name: NodeName
    /// The position up to which the node has applied everything.
    package var applied: LogPosition
    /// The number of the node's own purges that it has not published yet.
    package var unpublished: UInt64
    /// The number of entries that the node cannot decrypt and has therefore not applied.
    package var unopened: UInt64
    /// Whether the process has ended. Other nodes set this once they are sure that it has.
    package var hasEnded = false
    /// The program's version, truncated to 32 bytes.
    package var version: String

    package init(
        identity: NodeIdentity,
        name: NodeName,
        applied: LogPosition,
        unpublished: UInt64,
        unopened: UInt64 = 0,
        version: String
    ) {
        self.identity = identity
        self.name = name
        self.applied = applied
        self.unpublished = unpublished
        self.unopened = unopened
        self.version = String(decoding: version.utf8.prefix(32).filter(\.isNodeNameByte), as: UTF8.self)
    }
}

/// A row of the log that describes a node.
package struct NodeRow: Sendable, Hashable {
    package var report: NodeReport
    /// When the server received the report, on the server's clock.
    package var seenAt: EngineTime

    package init(report: NodeReport, seenAt: EngineTime) {
        self.report = report
        self.seenAt = seenAt
    }

    /// The row's value: the report and the time.
    package var encoded: String { "\(report.encoded) \(seenAt.milliseconds)" }
}

extension Sequence<NodeRow> {
    /// The rows, sorted by name and then by identity.
    package var inOrder: [NodeRow] {
        sorted { ($0.report.name, $0.report.identity) < ($1.report.name, $1.report.identity) }
    }
}

/// A change to another node's row: restores a row that the log has lost, or marks a process as
/// ended.
package struct NodeRowChange: Sendable, Hashable {
    /// The maximum number of changes in one call.
    package static let most = 64

    /// The row that must exist; `nil` if there must be no row.
    package var expected: NodeRow?
    package var row: NodeRow

    package init(_ row: NodeRow, insteadOf expected: NodeRow? = nil) {
        self.row = row
        self.expected = expected
    }

    /// - Throws: ``FleetLogError/limit(_:)`` if there are no changes or too many.
    package static func check(_ changes: [NodeRowChange]) throws(FleetLogError) {
        guard (1...most).contains(changes.count) else { throw .limit("rows") }
    }
}

extension NodeReport {
    /// The row's value without the time:
    /// `2 <name> <applied> <unpublished> <unopened> <up or ended> <version>`.
    package var encoded: String {
        "2 \(name) \(applied) \(unpublished) \(unopened) \(hasEnded ? "ended" : "up") \(version)"
    }

    /// - Returns: `nil` if the text is not in the format of ``encoded``.
    package init?(identity: NodeIdentity, encoded: some StringProtocol) {
        guard encoded.utf8.count <= 256 else { return nil }
        let parts = encoded.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 7, parts[0] == "2", let name = NodeName(String(parts[1])),
            let applied = LogPosition(String(parts[2])),
            let unpublished = LogPosition.number(parts[3].utf8),
            let unopened = LogPosition.number(parts[4].utf8), parts[5] == "up" || parts[5] == "ended"
        else { return nil }
        self.init(
            identity: identity,
            name: name,
            applied: applied,
            unpublished: unpublished,
            unopened: unopened,
            version: String(parts[6])
        )
        hasEnded = parts[5] == "ended"
        guard version == parts[6] else { return nil }
    }
}

extension UInt8 {
    fileprivate var isNodeNameByte: Bool { isNameByte || self == UInt8(ascii: ":") }
}
