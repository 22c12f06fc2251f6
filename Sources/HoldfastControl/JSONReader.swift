import HTTPCache

/// Reads the JSON text of a request.
///
/// It rejects an object that has a member twice. Readers of JSON take one of the two, and not all
/// take the same one, so such a request says nothing certain. RFC 8259 §4
enum JSONReader {
    typealias Refusal = JSONScanner.Refusal

    /// The most values, including those inside lists and objects: ten times the selectors of a
    /// purge.
    static let maximumCount = 10_000
    /// The deepest nesting of lists and objects. No request needs more than three levels.
    static let maximumDepth = 32

    /// The value of a text.
    static func value(of json: [UInt8]) throws(Refusal) -> JSONValue {
        try JSONScanner.read(json, maximumDepth: maximumDepth, maximumCount: maximumCount, value)
    }

    private static func value(_ scanner: inout JSONScanner) throws(Refusal) -> JSONValue {
        switch try scanner.next() {
        case .object:
            var members: [String: JSONValue] = [:]
            try scanner.object { scanner, name throws(Refusal) in
                let value = try value(&scanner, in: name)
                guard members.updateValue(value, forKey: name) == nil else { throw .repeated(name) }
            }
            return .object(members)
        case .list:
            var values: [JSONValue] = []
            try scanner.list { scanner throws(Refusal) in
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
    /// - Parameter place: its name or index, for the path of a member that is there twice.
    private static func value(
        _ scanner: inout JSONScanner,
        in place: @autoclosure () -> String
    ) throws(Refusal) -> JSONValue {
        do throws(Refusal) {
            return try value(&scanner)
        } catch {
            guard case .repeated(let path) = error else { throw error }
            throw .repeated(place() + (path.hasPrefix("[") ? path : "." + path))
        }
    }
}
