import Crypto
import LibC

/// JSON in the form in which it is keyed: without white space, with the members of each object in
/// the order of RFC 8785, and without the members that a rule ignores.
///
/// Numbers keep their text. RFC 8785 §3.2.2.3 rounds them to doubles, so requests for two IDs above
/// 2⁵³ would share a response. `1` and `1.0` therefore have different keys.
///
/// Text that servers may read in different ways has no canonical form, and is keyed by its bytes.
///
/// ```swift
/// let json = try CanonicalJSON(content, ignoring: MemberPaths(["user"]))
/// json.text  // {"model":"m","seed":9007199254740993}
/// ```
package struct CanonicalJSON: Sendable, Hashable {
    /// The reason that a text has no canonical form: it is not JSON in UTF-8 (which includes lone
    /// surrogates), an object has a member twice, or a limit is exceeded.
    typealias Refusal = JSONScanner.ScanError

    /// The maximum nesting depth. It also bounds how often a byte is moved while members are
    /// sorted.
    package static let maximumDepth = 64
    /// The maximum number of values.
    package static let maximumCount = 1 << 15

    /// The canonical form. Only an ignored item of a list, which becomes `null`, can make it longer
    /// than the content.
    let text: [UInt8]

    /// - Parameters:
    ///   - content: a JSON text. RFC 8259
    ///   - ignored: the members to leave out.
    init(_ content: [UInt8], ignoring ignored: MemberPaths) throws(Refusal) {
        var writer = Writer()
        writer.text.reserveCapacity(content.count)
        let root = ignored.root
        text = try JSONScanner.read(
            content,
            maximumDepth: Self.maximumDepth,
            maximumCount: Self.maximumCount
        ) { scanner throws(Refusal) in
            let part = try scanner.next()
            try writer.write(part, &scanner, root)
            return writer.text
        }
    }

    /// The SHA-256 of the canonical form.
    var sha256: [UInt8] { Array(SHA256.hash(data: text)) }
}

extension CanonicalJSON {
    /// A member of an object.
    fileprivate struct Member {
        /// The place of its name, without escapes, among the object's names.
        let name: Range<Int>
        /// The place where the member was written; empty if it is ignored.
        let place: Range<Int>
    }

    fileprivate struct Writer {
        var text: [UInt8] = []

        /// Writes a value.
        ///
        /// - Parameter ignored: what to leave out of it; `nil` for nothing.
        mutating func write(
            _ part: JSONScanner.Part,
            _ scanner: inout JSONScanner,
            _ ignored: MemberPaths.Node?
        ) throws(Refusal) {
            switch part {
            case .object: try writeObject(&scanner, ignored)
            case .list: try writeList(&scanner, ignored?.item)
            case .string(let string): write(string, scanner.plainText)
            case .number: text += scanner.numberText
            case .bool(let value): text += (value ? "true" : "false").utf8
            case .null: text += "null".utf8
            }
        }

        private mutating func writeList(_ scanner: inout JSONScanner, _ ignored: MemberPaths.Node?) throws(Refusal) {
            text.append(UInt8(ascii: "["))
            var isFirst = true
            try scanner.list { scanner throws(Refusal) in
                if !isFirst { text.append(UInt8(ascii: ",")) }
                isFirst = false
                let start = text.count
                let part = try scanner.next()
                try write(part, &scanner, ignored)
                // An ignored item still counts, so that the others keep their positions.
                if ignored?.isEnd == true {
                    text.removeLast(text.count - start)
                    text += "null".utf8
                }
            }
            text.append(UInt8(ascii: "]"))
        }

        private mutating func writeObject(_ scanner: inout JSONScanner, _ ignored: MemberPaths.Node?) throws(Refusal) {
            text.append(UInt8(ascii: "{"))
            let start = text.count
            var members: [Member] = []
            var names: [UInt8] = []
            try scanner.object { scanner, name throws(Refusal) in
                let node = ignored?.member(name)
                let (end, nameStart) = (text.count, names.count)
                if end > start { text.append(UInt8(ascii: ",")) }
                let place = text.count
                names += name.utf8
                write(name, scanner.plainText)
                text.append(UInt8(ascii: ":"))
                let part = try scanner.next()
                try write(part, &scanner, node)
                // An ignored member is written first, because its content must be readable too.
                if node?.isEnd == true { text.removeLast(text.count - end) }
                let written = node?.isEnd == true ? end..<end : place..<text.count
                members.append(Member(name: nameStart..<names.count, place: written))
            }
            try sort(members, named: names, from: start)
            text.append(UInt8(ascii: "}"))
        }

        /// Sorts the members that were written from a position on.
        private mutating func sort(
            _ members: [Member],
            named names: [UInt8],
            from start: Int
        ) throws(Refusal) {
            let order = NameOrder(names)
            if zip(members, members.dropFirst()).allSatisfy({ order.areOrdered($0.name, $1.name) }) { return }
            let sorted = members.sorted { order.areOrdered($0.name, $1.name) }
            for (member, next) in zip(sorted, sorted.dropFirst()) where !order.areOrdered(member.name, next.name) {
                throw .repeated(String(decoding: names[member.name], as: UTF8.self))
            }
            let written = Array(text[start...])
            text.removeLast(written.count)
            for member in sorted where !member.place.isEmpty {
                if text.count > start { text.append(UInt8(ascii: ",")) }
                text += written[(member.place.lowerBound - start)..<(member.place.upperBound - start)]
            }
        }

        /// Writes a string with the escapes of RFC 8785 §3.2.2.2.
        ///
        /// - Parameter plain: the string as received, if it has no escapes and so needs none.
        private mutating func write(_ string: String, _ plain: Slice<UnsafeBufferPointer<UInt8>>?) {
            text.append(UInt8(ascii: "\""))
            defer { text.append(UInt8(ascii: "\"")) }
            if let plain {
                text += plain
                return
            }
            for byte in string.utf8 {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
                case 0x08: text += "\\b".utf8
                case 0x09: text += "\\t".utf8
                case 0x0A: text += "\\n".utf8
                case 0x0C: text += "\\f".utf8
                case 0x0D: text += "\\r".utf8
                case 0..<0x20: text += "\\u00\([byte].hexadecimal)".utf8
                default: text.append(byte)
                }
            }
        }
    }
}

/// The order of names by UTF-16 code units. RFC 8785 §3.2.3
private struct NameOrder {
    private let names: [UInt8]
    /// Whether the names are in the same order by their bytes. Only names with scalars from U+E000
    /// on are not: UTF-16 sorts surrogates before them.
    private let isByBytes: Bool

    init(_ names: [UInt8]) {
        self.names = names
        isByBytes = names.allSatisfy { $0 < 0xEE }
    }

    /// Returns whether a name comes before another; `false` if they are equal.
    func areOrdered(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        guard isByBytes else {
            return names[one].lazy.map(Self.rank).lexicographicallyPrecedes(names[other].lazy.map(Self.rank))
        }
        return names.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            let count = min(one.count, other.count)
            let difference = memcmp(base + one.lowerBound, base + other.lowerBound, count)
            return difference < 0 || (difference == 0 && one.count < other.count)
        }
    }

    /// Places the first bytes of scalars beyond U+FFFF, which become surrogates, before the first
    /// bytes of U+E000 to U+FFFF. Other bytes keep their order.
    private static func rank(_ byte: UInt8) -> UInt8 {
        switch byte {
        case 0xEE, 0xEF: byte + 0x10
        case 0xF0...0xFF: byte - 0x02
        default: byte
        }
    }
}
