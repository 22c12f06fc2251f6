import HTTPCache

/// Reads the JSON content of a request.
///
/// An object that contains a member twice is rejected. Parsers disagree about which of the two
/// counts, so such a request is ambiguous. RFC 8259 §4
enum JSONReader {
    /// The maximum number of values, including those inside lists and objects. This is ten times
    /// the maximum number of selectors in a purge.
    static let maximumCount = 10_000
    /// The maximum nesting of lists and objects. No request needs more than three levels.
    static let maximumDepth = 32

    /// Parses JSON text.
    static func value(of json: [UInt8]) throws(JSONScanner.ScanError) -> JSONValue {
        try JSONScanner.read(json, maximumDepth: maximumDepth, maximumCount: maximumCount, value)
    }

    private static func value(_ scanner: inout JSONScanner) throws(JSONScanner.ScanError) -> JSONValue {
        switch try scanner.next() {
        case .object:
            var members: [String: JSONValue] = [:]
            try scanner.object { scanner, name throws(JSONScanner.ScanError) in
                let value = try value(&scanner, in: name)
                guard members.updateValue(value, forKey: name) == nil else { throw .repeated(name) }
            }
            return .object(members)
        case .list:
            var values: [JSONValue] = []
            try scanner.list { scanner throws(JSONScanner.ScanError) in
                values.append(try value(&scanner, in: "[\(values.count)]"))
            }
            return .array(values)
        case .string(let text): return .string(text)
        case .number(let number): return .number(number)
        case .bool(let flag): return .bool(flag)
        case .null: return .null
        }
    }

    /// Reads a value of a list or an object.
    ///
    /// - Parameter place: the value's name or index, for the path of a repeated member.
    private static func value(
        _ scanner: inout JSONScanner,
        in place: @autoclosure () -> String
    ) throws(JSONScanner.ScanError) -> JSONValue {
        do throws(JSONScanner.ScanError) {
            return try value(&scanner)
        } catch {
            guard case .repeated(let path) = error else { throw error }
            throw .repeated(place() + (path.hasPrefix("[") ? path : "." + path))
        }
    }
}
