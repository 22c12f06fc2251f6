internal import HTTPTypes

/// A field that lists field names, such as `Vary` or `Connection`. RFC 9110 §5.6.1
struct FieldNameList {
    /// The maximum number of names in a list; real fields have fewer.
    ///
    /// A longer list counts as malformed, so that looking up names stays cheap.
    static let maximumNames = 128

    /// The maximum number of names for which a new name is compared with every existing name.
    private static let fewNames = 8

    /// The names in lower case, without duplicates (up to ``maximumNames``), in order of arrival.
    var names: [String] = []
    /// Whether the list contains `*`.
    var hasWildcard = false
    /// Whether the message has the field, even if it is empty.
    var isPresent = false
    /// Whether a member was not a token, so that its meaning is unknown.
    var hasMalformedMember = false
    /// The names, if there are more than `fewNames`.
    private var known: Set<String> = []

    init(_ name: HTTPField.Name, in fields: HTTPFields) {
        // Access by index: most messages lack the field, and iterating would copy every field.
        for index in fields.indices where fields[index].name == name {
            isPresent = true
            fields[index].withUnsafeBytesOfValue { add($0) }
        }
    }

    /// Returns the names of the fields that `Connection` lists. RFC 9110 §7.6.1
    ///
    /// `Keep-Alive` is omitted: it is always hop-by-hop, and most `Connection` fields contain
    /// nothing else.
    static func nominated(in fields: HTTPFields) -> [String] {
        var list = FieldNameList()
        for index in fields.indices where fields[index].name == .connection {
            fields[index].withUnsafeBytesOfValue { if !$0.isKeepAlive { list.add($0) } }
        }
        return list.names
    }

    private init() {}

    private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        var scanner = ByteScanner(bytes)
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { return }
            let range = scanner.token()
            scanner.skipWhitespace()
            if range.isEmpty || (scanner.current ?? UInt8(ascii: ",")) != UInt8(ascii: ",") {
                hasMalformedMember = true
                scanner.skipMember()
                continue
            }
            if range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") {
                hasWildcard = true
                continue
            }
            let name = bytes.lowercased(range)
            if names.count >= Self.maximumNames {
                hasMalformedMember = true
                names.append(name)
            } else if isNew(name) {
                names.append(name)
            }
        }
    }

    private mutating func isNew(_ name: String) -> Bool {
        // Most lists are short, and comparing a few names needs no allocation.
        guard names.count >= Self.fewNames else { return !names.contains(name) }
        if known.isEmpty { known = Set(names) }
        return known.insert(name).inserted
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate var isKeepAlive: Bool {
        count == 10 && zip(self, "keep-alive".utf8).allSatisfy { $0.asciiLowercased == $1 }
    }
}
