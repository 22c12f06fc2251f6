import HTTPCacheSemantics

/// The `tracestate` field, in which other systems store information about a trace. W3C Trace
/// Context §3.3
///
/// This process adds no member. It passes on the members that it receives, within the limits of the
/// specification.
enum TraceState {
    /// The maximum number of members.
    static let memberLimit = 32
    /// The maximum length in bytes. The specification requires support for at least this length.
    static let byteLimit = 512
    /// The length above which members are removed first.
    private static let longMember = 128

    /// Returns the value to pass on; empty if there is no valid value.
    ///
    /// - Parameter value: all lines of the field, joined by commas.
    static func passing(_ value: String) -> String {
        var members: [String] = []
        var keys: Set<Substring> = []
        for part in value.split(separator: ",") {
            let member = String(Substring(part.utf8.trimmingWhitespace()))
            guard !member.isEmpty else { continue }
            guard members.count < memberLimit, let equals = member.firstIndex(of: "="),
                isKey(member[..<equals]), isValue(member[member.index(after: equals)...]),
                keys.insert(member[..<equals]).inserted
            else { return "" }
            members.append(member)
        }
        var bytes = members.reduce(-1) { $0 + $1.utf8.count + 1 }
        // The newest members come first, so remove the last members first.
        for index in members.indices.reversed() where bytes > byteLimit && members[index].utf8.count > longMember {
            bytes -= members.remove(at: index).utf8.count + 1
        }
        while bytes > byteLimit, let last = members.popLast() { bytes -= last.utf8.count + 1 }
        return members.joined(separator: ",")
    }

    private static func isKey(_ key: Substring) -> Bool {
        let parts = key.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return key.utf8.count <= 256 && isName(parts[0], digitFirst: false)
        case 2:
            return parts[0].count <= 241 && parts[1].count <= 14 && isName(parts[0], digitFirst: true)
                && isName(parts[1], digitFirst: false)
        default: return false
        }
    }

    private static func isName(_ name: Substring.UTF8View, digitFirst: Bool) -> Bool {
        guard let first = name.first, first.isLowercase || digitFirst && first.isDigit else { return false }
        return name.allSatisfy { $0.isLowercase || $0.isDigit || "_-*/".utf8.contains($0) }
    }

    private static func isValue(_ value: Substring) -> Bool {
        (1...256).contains(value.utf8.count)
            && value.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "=") }
    }
}
