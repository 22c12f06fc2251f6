/// Reads a JSON text in one pass, in linear time. RFC 8259
///
/// It rejects an object that has the same member twice. JSON readers disagree about which one
/// counts, so such a request is ambiguous. RFC 8259 §4
struct JSONReader {
    /// The reason for rejecting a text.
    enum Refusal: Error, Hashable {
        case notJSON
        /// The path of a member that appears twice: `select.tags`.
        case repeated(String)
        case tooManyValues
        case tooDeep
    }

    /// The most values, including those inside lists and objects: ten times the selectors of a
    /// purge.
    static let maximumCount = 10_000
    /// The deepest nesting of lists and objects. No request needs more than three levels.
    static let maximumDepth = 32
    /// The longest number, in bytes.
    private static let longestNumber = 256

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var count = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The value of a text.
    static func value(of json: [UInt8]) throws(Refusal) -> JSONValue {
        let result = json.withUnsafeBufferPointer { bytes -> Result<JSONValue, Refusal> in
            var reader = JSONReader(bytes)
            do throws(Refusal) {
                let value = try reader.value(depth: 0)
                reader.skipSpace()
                return reader.position == bytes.count ? .success(value) : .failure(.notJSON)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func isNext(_ byte: UInt8) -> Bool { position < bytes.count && bytes[position] == byte }

    /// Skips whitespace, and consumes a structural character if it is next.
    private mutating func take(_ byte: UInt8) -> Bool {
        skipSpace()
        guard isNext(byte) else { return false }
        position += 1
        return true
    }

    private mutating func take(_ literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for index in 0..<length where bytes[position + index] != literal.utf8Start[index] { return false }
        position += length
        return true
    }

    private mutating func value(depth: Int) throws(Refusal) -> JSONValue {
        skipSpace()
        count += 1
        guard count <= Self.maximumCount else { throw .tooManyValues }
        guard position < bytes.count else { throw .notJSON }
        switch bytes[position] {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t") where take("true"): return .bool(true)
        case UInt8(ascii: "f") where take("false"): return .bool(false)
        case UInt8(ascii: "n") where take("null"): return .null
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(Refusal) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw .tooDeep }
        position += 1
        var members: [String: JSONValue] = [:]
        guard !take(UInt8(ascii: "}")) else { return .object(members) }
        repeat {
            skipSpace()
            let name = try string()
            guard take(UInt8(ascii: ":")) else { throw .notJSON }
            let value = try value(depth: depth, in: name)
            guard members.updateValue(value, forKey: name) == nil else { throw .repeated(name) }
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw .notJSON }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Refusal) -> JSONValue {
        guard depth <= Self.maximumDepth else { throw .tooDeep }
        position += 1
        var values: [JSONValue] = []
        guard !take(UInt8(ascii: "]")) else { return .array(values) }
        repeat {
            values.append(try value(depth: depth, in: "[\(values.count)]"))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw .notJSON }
        return .array(values)
    }

    /// Reads a value of a list or an object.
    ///
    /// - Parameter place: its name or index, for the path of a member that appears twice.
    private mutating func value(depth: Int, in place: @autoclosure () -> String) throws(Refusal) -> JSONValue {
        do throws(Refusal) {
            return try value(depth: depth)
        } catch {
            guard case .repeated(let path) = error else { throw error }
            throw .repeated(place() + (path.hasPrefix("[") ? path : "." + path))
        }
    }

    // MARK: Texts and numbers

    private mutating func string() throws(Refusal) -> String {
        guard isNext(UInt8(ascii: "\"")) else { throw .notJSON }
        position += 1
        let start = position
        // Most strings have no escapes and are copied as they are.
        while position < bytes.count, bytes[position] >= 0x20 {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return try Self.text(bytes[start..<(position - 1)])
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            default: position += 1
            }
        }
        throw .notJSON
    }

    private static func text(_ bytes: some Collection<UInt8>) throws(Refusal) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notJSON }
        return text
    }

    private mutating func escapedString(from start: Int) throws(Refusal) -> String {
        var result = Array(bytes[start..<position])
        while position < bytes.count, bytes[position] >= 0x20 {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try Self.text(result)
            case UInt8(ascii: "\\"): result += UTF8.encode(try escape()) ?? Unicode.UTF8.encodedReplacementCharacter
            default: result.append(byte)
            }
        }
        throw .notJSON
    }

    /// Reads an escape after its backslash. RFC 8259 §7
    private mutating func escape() throws(Refusal) -> Unicode.Scalar {
        guard position < bytes.count else { throw .notJSON }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw .notJSON
        }
        let unit = try hexadecimal()
        var code = unit
        if 0xD800...0xDBFF ~= unit {
            guard take(#"\u"#) else { throw .notJSON }
            let low = try hexadecimal()
            guard 0xDC00...0xDFFF ~= low else { throw .notJSON }
            code = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw .notJSON }
        return scalar
    }

    private mutating func hexadecimal() throws(Refusal) -> UInt32 {
        guard bytes.count - position >= 4 else { throw .notJSON }
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue, bytes[position] < 0x80 else {
                throw .notJSON
            }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }

    /// Reads a number. RFC 8259 §6
    private mutating func number() throws(Refusal) -> Double {
        let start = position
        if isNext(UInt8(ascii: "-")) { position += 1 }
        if isNext(UInt8(ascii: "0")) { position += 1 } else { try digits() }
        if isNext(UInt8(ascii: ".")) {
            position += 1
            try digits()
        }
        if isNext(UInt8(ascii: "e")) || isNext(UInt8(ascii: "E")) {
            position += 1
            if isNext(UInt8(ascii: "+")) || isNext(UInt8(ascii: "-")) { position += 1 }
            try digits()
        }
        guard position - start <= Self.longestNumber,
            let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite
        else { throw .notJSON }
        return number
    }

    private mutating func digits() throws(Refusal) {
        let start = position
        while position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] { position += 1 }
        guard position > start else { throw .notJSON }
    }
}
