internal import HTTPTypes

/// A field whose members are field names: `Vary`, `Connection`. RFC 9110 §5.6.1
struct FieldNameList {
    /// The most names that a list may have: more than any real field has.
    ///
    /// A longer list is treated as malformed, so that looking up names stays cheap.
    static let maximumNames = 128

    /// The number of names that are compared with each new one.
    private static let fewNames = 8

    /// In lower case, each once (up to ``maximumNames``), in the order they came.
    var names: [String] = []
    /// The list contains `*`.
    var hasWildcard = false
    /// The message has the field, perhaps an empty one.
    var isPresent = false
    /// A member was not a token, so its meaning is unknown.
    var hasMalformedMember = false
    /// The names, if they are many.
    private var known: Set<String> = []

    init(_ name: HTTPField.Name, in fields: HTTPFields) {
        // Access by index: most messages lack the field, and a loop over the fields copies each of
        // them.
        for index in fields.indices where fields[index].name == name {
            isPresent = true
            fields[index].withUnsafeBytesOfValue { add($0) }
        }
    }

    /// The names of the fields that `Connection` nominates. RFC 9110 §7.6.1
    ///
    /// `Keep-Alive` is left out: it ends at every hop in any case, and most `Connection` fields
    /// contain nothing else.
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
        // Most lists are short, and comparing a few names allocates nothing.
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
