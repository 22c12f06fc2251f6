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
            let member = String(trimmed(part))
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

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, first == 0x20 || first == 0x09 { text = text.dropFirst() }
        while let last = text.utf8.last, last == 0x20 || last == 0x09 { text = text.dropLast() }
        return text
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
        guard let first = name.first, isLetter(first) || digitFirst && isDigit(first) else { return false }
        return name.allSatisfy { isLetter($0) || isDigit($0) || "_-*/".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isValue(_ value: Substring) -> Bool {
        (1...256).contains(value.utf8.count)
            && value.utf8.allSatisfy { (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "=") }
    }
}
