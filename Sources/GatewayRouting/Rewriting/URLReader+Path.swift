/// The path of a URL.
extension URLReader {
    /// A path as decoded from the text.
    struct Path {
        /// Empty, or with a leading slash.
        var bytes: [UInt8] = []
        /// The index in the text after each of ``bytes``.
        fileprivate var ends: [Int] = []

        /// Returns the index after the first bytes; `nil` if there are none.
        func end(of length: Int) -> Int? { length > 0 ? ends[length - 1] : nil }

        /// Returns the path after its first bytes, which end at a segment boundary.
        func rest(behind length: Int) -> [UInt8] {
            let rest = bytes.dropFirst(length)
            return rest.first == UInt8(ascii: "/") ? Array(rest) : []
        }
    }

    /// The maximum length of a path in text, in bytes as written: 1 KiB
    static let pathLimit = 1 << 10
    /// The maximum length of a path in text that may be a list of URLs, in bytes. Such a path
    /// begins at each URL of the list, so a long list would be read many times.
    static let listLimit = 1 << 8

    /// Reads the complete path that begins here, because a dot segment at its end can undo the
    /// entire path.
    ///
    /// - Returns: `nil` if a path in text does not end within ``pathLimit``.
    mutating func readPath(behind before: TextBefore) throws(Incomplete) -> Path? {
        var path = Path()
        guard try peekSymbol()?.byte == UInt8(ascii: "/") else { return path }
        let start = index
        // The length of the first path in a list.
        var first: Int?
        while let symbol = try peekSymbol(), !endsPath(symbol, before.closer) {
            if surroundings == .text {
                if index - start >= (first == nil ? Self.pathLimit : Self.listLimit) {
                    guard let first else { return nil }
                    path.bytes.removeSubrange(first...)
                    return path
                }
                if first == nil, ",;|".utf8.contains(symbol.byte), try isNext("http", at: symbol.width) {
                    first = path.bytes.count
                }
            }
            path.bytes.append(symbol.byte)
            index += symbol.width
            path.ends.append(index)
        }
        return path
    }

    private func endsPath(_ symbol: Symbol, _ closer: UInt8?) -> Bool {
        switch symbol.byte {
        case UInt8(ascii: "?"), UInt8(ascii: "#"): true
        case _ where surroundings == .nothing: false
        case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"): true
        default: symbol.byte == closer
        }
    }
}
