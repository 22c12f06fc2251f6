package import HTTPCache

/// The name of a node of a fleet: 1 to 64 letters, digits, `.`, `_`, `:` and `-`.
package struct NodeName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isNameByte) else { return nil }
        self.text = text
    }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}

/// The name of a fleet on an engine, which others may use too: 1 to 64 letters, digits, `.`, `_`
/// and `-`.
package struct FleetNamespace: Sendable, Hashable, CustomStringConvertible {
    package let text: String

    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ $0.isNameByte && $0 != UInt8(ascii: ":") })
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}

/// The state of a node, as it tells others.
package struct NodeReport: Sendable, Hashable {
    package var name: NodeName
    /// Everything up to here is in force at the node.
    package var applied: LogPosition
    /// How many of its purges it has not published.
    package var unpublished: UInt64
    /// The program's version, of which 32 bytes are kept.
    package var version: String

    package init(name: NodeName, applied: LogPosition, unpublished: UInt64, version: String) {
        self.name = name
        self.applied = applied
        self.unpublished = unpublished
        self.version = String(decoding: version.utf8.prefix(32).filter(\.isNameByte), as: UTF8.self)
    }
}

/// A row about a node.
package struct NodeRow: Sendable, Hashable {
    package var report: NodeReport
    /// When the engine received the report, by its clock.
    package var seenAt: EngineTime

    package init(report: NodeReport, seenAt: EngineTime) {
        self.report = report
        self.seenAt = seenAt
    }
}

extension NodeReport {
    /// The row's value without the time: `1 <applied> <unpublished> <version>`.
    package var encoded: String { "1 \(applied) \(unpublished) \(version)" }

    /// - Returns: `nil` for any text that is not one of ``encoded``.
    package init?(name: NodeName, encoded: some StringProtocol) {
        guard encoded.utf8.count <= 128 else { return nil }
        let parts = encoded.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "1", let applied = LogPosition(String(parts[1])),
            let unpublished = LogPosition.number(parts[2].utf8)
        else { return nil }
        self.init(name: name, applied: applied, unpublished: unpublished, version: String(parts[3]))
        guard version == parts[3] else { return nil }
    }
}

extension UInt8 {
    fileprivate var isNameByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
