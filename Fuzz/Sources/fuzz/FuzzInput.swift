import HTTPTypes

/// The bytes of one run, read as text: lines, numbers, and field sections that an empty line ends.
///
/// It is text, so that dictionaries fit, seeds can be written by hand, and findings can be read.
/// Every input gives some result.
struct FuzzInput {
    private var rest: Slice<UnsafeBufferPointer<UInt8>>

    init(_ bytes: UnsafeBufferPointer<UInt8>) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next line without its end.
    mutating func line() -> [UInt8] {
        let line = Array(rest.prefix { $0 != UInt8(ascii: "\n") })
        rest = rest.dropFirst(line.count + 1)
        return line
    }

    mutating func text() -> String { String(decoding: line(), as: UTF8.self) }

    /// Everything that is left.
    mutating func remaining() -> [UInt8] {
        defer { rest = rest.dropFirst(rest.count) }
        return Array(rest)
    }

    /// The words of the next line as numbers, clamped; a word that is not a number is 0.
    mutating func numbers() -> Numbers {
        Numbers(values: line().split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map(Self.number))
    }

    /// Fields up to an empty line or the end. Lines without a valid name are left out.
    mutating func fields() -> HTTPFields {
        var fields = HTTPFields()
        while !rest.isEmpty {
            let line = line()
            if line.isEmpty { break }
            let name = line.prefix { $0 != UInt8(ascii: ":") }
            guard name.count < line.count, let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) else {
                continue
            }
            let value = line.dropFirst(name.rawName.utf8.count + 1).drop { $0 == UInt8(ascii: " ") }
            fields.append(HTTPField(name: name, value: Array(value)))
        }
        return fields
    }

    /// All lines as values of one field.
    mutating func lines(of name: HTTPField.Name) -> HTTPFields {
        var fields = HTTPFields()
        while !rest.isEmpty { fields.append(HTTPField(name: name, value: line())) }
        return fields
    }

    private static func number(_ word: ArraySlice<UInt8>) -> Int64 {
        let isNegative = word.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in isNegative ? word.dropFirst() : word {
            guard (0x30...0x39).contains(byte) else { return 0 }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte &- 0x30)
            let (sum, carried) = product.addingReportingOverflow(isNegative ? -digit : digit)
            if overflow || carried { return isNegative ? .min : .max }
            value = sum
        }
        return value
    }
}

/// The numbers of one line; missing ones are 0.
struct Numbers {
    var values: [Int64]

    subscript(index: Int) -> Int64 { values.indices.contains(index) ? values[index] : 0 }
}

extension HTTPField.Name {
    /// Makes a name; all names here are tokens.
    init(token: StaticString) { self = HTTPField.Name("\(token)") ?? .accept }
}

extension HTTPFields {
    /// The values of a name, byte by byte.
    func bytes(of name: HTTPField.Name) -> [[UInt8]] {
        self[fields: name].map { $0.withUnsafeBytesOfValue { Array($0) } }
    }
}
