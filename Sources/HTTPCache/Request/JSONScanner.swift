import HTTPCacheSemantics

/// Scans a JSON text in one pass, in time proportional to its bytes. RFC 8259
///
/// Skipped parts are validated like any other part, but use no memory.
package struct JSONScanner {
    /// The reason that a text is rejected.
    package enum ScanError: Error, Hashable {
        case notJSON
        /// An object has the same member twice. The value is the member's path, such as
        /// `select.tags`. Readers throw this error.
        case repeated(String)
        case tooManyValues
        case tooDeep
    }

    /// A value, or the start of one.
    package enum Part {
        /// An object has begun. Read its members with ``JSONScanner/object(_:)``.
        case object
        /// A list has begun. Read its values with ``JSONScanner/list(_:)``.
        case list
        case string(String)
        case number(Double)
        case bool(Bool)
        case null
    }

    /// The maximum length of a number, in bytes.
    private static let longestNumber = 256

    private let bytes: UnsafeBufferPointer<UInt8>
    private let maximumDepth: Int
    private let maximumCount: Int
    private var position = 0
    private var depth = 0
    private var count = 0
    private var numberStart = 0
    private var plainString: Range<Int>?

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - maximumDepth: the maximum nesting depth of lists and objects.
    ///   - maximumCount: the maximum number of values, including values in lists and objects.
    ///   - read: reads the text's single value.
    package static func read<Value>(
        _ json: [UInt8],
        maximumDepth: Int,
        maximumCount: Int = .max,
        _ read: (inout JSONScanner) throws(ScanError) -> Value
    ) throws(ScanError) -> Value {
        try json.withUnsafeBufferPointer { bytes throws(ScanError) in
            var scanner = JSONScanner(bytes: bytes, maximumDepth: maximumDepth, maximumCount: maximumCount)
            let value = try read(&scanner)
            scanner.skipSpace()
            guard scanner.position == bytes.count else { throw .notJSON }
            return value
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int, maximumCount: Int) {
        (self.bytes, self.maximumDepth, self.maximumCount) = (bytes, maximumDepth, maximumCount)
    }

    /// Reads the next value, or the start of the next object or list.
    package mutating func next() throws(ScanError) -> Part {
        skipSpace()
        count += 1
        guard count <= maximumCount else { throw .tooManyValues }
        guard position < bytes.count else { throw .notJSON }
        switch bytes[position] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .list
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t") where take("true"): return .bool(true)
        case UInt8(ascii: "f") where take("false"): return .bool(false)
        case UInt8(ascii: "n") where take("null"): return .null
        default: return .number(try number())
        }
    }

    /// The number that ``next()`` returned last, as written.
    package var numberText: Slice<UnsafeBufferPointer<UInt8>> { bytes[numberStart..<position] }

    /// The string or the name of a member that was read last, as written; `nil` if it has escapes.
    package var plainText: Slice<UnsafeBufferPointer<UInt8>>? { plainString.map { bytes[$0] } }

    /// Reads the members of an object that has begun.
    ///
    /// - Parameter member: reads the value of the member with this name.
    package mutating func object(_ member: (inout JSONScanner, String) throws(ScanError) -> Void) throws(ScanError) {
        try elements(to: UInt8(ascii: "}")) { scanner throws(ScanError) in
            scanner.skipSpace()
            let name = try scanner.string()
            guard scanner.take(UInt8(ascii: ":")) else { throw .notJSON }
            try member(&scanner, name)
        }
    }

    /// Reads the values of a list that has begun.
    ///
    /// - Parameter value: reads one value.
    package mutating func list(_ value: (inout JSONScanner) throws(ScanError) -> Void) throws(ScanError) {
        try elements(to: UInt8(ascii: "]"), value)
    }

    /// Skips the rest of a value.
    package mutating func skip(_ part: Part) throws(ScanError) {
        switch part {
        case .object: try object { scanner, _ throws(ScanError) in try scanner.skip(scanner.next()) }
        case .list: try list { scanner throws(ScanError) in try scanner.skip(scanner.next()) }
        case .string, .number, .bool, .null: break
        }
    }

    private mutating func elements(
        to end: UInt8,
        _ element: (inout JSONScanner) throws(ScanError) -> Void
    ) throws(ScanError) {
        guard depth < maximumDepth else { throw .tooDeep }
        depth += 1
        position += 1
        if !take(end) {
            repeat { try element(&self) } while take(UInt8(ascii: ","))
            guard take(end) else { throw .notJSON }
        }
        depth -= 1
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

    /// Reads a structural character and the white space before it. Returns whether the character
    /// was there.
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

    // MARK: Texts and numbers

    private mutating func string() throws(ScanError) -> String {
        guard isNext(UInt8(ascii: "\"")) else { throw .notJSON }
        position += 1
        let start = position
        plainString = nil
        // Most strings have no escapes and are read unchanged.
        while position < bytes.count, bytes[position] >= 0x20 {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                plainString = start..<(position - 1)
                return try Self.text(bytes[start..<(position - 1)])
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            default: position += 1
            }
        }
        throw .notJSON
    }

    private static func text(_ bytes: some Collection<UInt8>) throws(ScanError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notJSON }
        return text
    }

    private mutating func escapedString(from start: Int) throws(ScanError) -> String {
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
    private mutating func escape() throws(ScanError) -> Unicode.Scalar {
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

    private mutating func hexadecimal() throws(ScanError) -> UInt32 {
        guard bytes.count - position >= 4 else { throw .notJSON }
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = bytes[position].hexValue else { throw .notJSON }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }

    /// Reads a number. RFC 8259 §6
    private mutating func number() throws(ScanError) -> Double {
        let start = position
        numberStart = start
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

    private mutating func digits() throws(ScanError) {
        let start = position
        while position < bytes.count, bytes[position].isDigit { position += 1 }
        guard position > start else { throw .notJSON }
    }
}
