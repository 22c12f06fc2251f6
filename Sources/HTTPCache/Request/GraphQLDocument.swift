import HTTPCacheSemantics

/// The type of a GraphQL operation. GraphQL §2.3
package enum GraphQLOperationType: String, Sendable {
    case query, mutation, subscription
}

/// Finds the requested operation of a GraphQL document, and its type. GraphQL §2
///
/// It reads only definitions and their names, and skips everything in brackets. If it cannot read a
/// document, or if the document contains anything other than operations and fragments, it finds no
/// operation. The request is then forwarded like any other, which is always correct.
package struct GraphQLDocument {
    private enum Token: Hashable {
        /// A name, as a range of bytes, because most names are skipped.
        case name(Range<Int>)
        case punctuator(UInt8)
        /// A token that occurs only inside a definition: a string, a number, a variable's `$`, or
        /// `...`.
        case other
        case end
    }

    /// The maximum nesting depth of brackets. Real queries are never nested that deeply.
    private static let maximumDepth = 256
    /// The maximum number of definitions. Real documents never have that many.
    private static let maximumDefinitions = 1_000

    private let bytes: [UInt8]
    private var position = 0

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the type of the requested operation.
    ///
    /// - Parameter name: the operation's name; `nil` if the document has only one operation.
    /// - Returns: `nil` if the document cannot be read, or if it does not have exactly one such
    ///   operation.
    package static func operation(in text: String, named name: String?) -> GraphQLOperationType? {
        var document = GraphQLDocument(text)
        var found: [GraphQLOperationType] = []
        for _ in 0...maximumDefinitions {
            guard let token = document.next() else { return nil }
            switch token {
            case .end:
                return found.count == 1 ? found[0] : nil
            case .punctuator(UInt8(ascii: "{")):
                guard document.skipBrackets() else { return nil }
                // The short form has no name and is a query.
                if name == nil { found.append(.query) }
            case .name(let keyword):
                guard let operation = document.definition(document.text(keyword)) else { return nil }
                if let type = operation.type, name == nil || operation.name == name { found.append(type) }
            case .punctuator, .other:
                return nil
            }
        }
        return nil
    }

    /// Reads the rest of a definition after its keyword. A fragment has no type. Returns `nil` for
    /// any other definition.
    private mutating func definition(_ keyword: String) -> (type: GraphQLOperationType?, name: String?)? {
        let type = GraphQLOperationType(rawValue: keyword)
        guard type != nil || keyword == "fragment" else { return nil }
        var name: String?
        var isFirst = true
        while let token = next() {
            switch token {
            case .punctuator(UInt8(ascii: "{")): return skipBrackets() ? (type, name) : nil
            // Skip variable definitions and the arguments of directives.
            case .punctuator(UInt8(ascii: "(")): guard skipBrackets() else { return nil }
            case .name(let word): if isFirst { name = text(word) }
            // This starts a directive.
            case .punctuator(UInt8(ascii: "@")): break
            case .punctuator, .other, .end: return nil
            }
            isFirst = false
        }
        return nil
    }

    /// Skips past the bracket that closes the opening bracket just read.
    private mutating func skipBrackets() -> Bool {
        var open = [bytes[position - 1]]
        while let last = open.last {
            skipPlain()
            guard position < bytes.count else { return false }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["):
                guard open.count < Self.maximumDepth else { return false }
                open.append(byte)
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ")"):
                // In ASCII, an opening bracket is two positions before its closing bracket, and an
                // opening parenthesis one position.
                guard last == byte - (byte == UInt8(ascii: ")") ? 1 : 2) else { return false }
                open.removeLast()
                position += 1
            default:
                guard let token = next(), token != .end else { return false }
            }
        }
        return true
    }

    /// Skips names, and the white space and commas between them, which are most of the text in
    /// brackets.
    private mutating func skipPlain() {
        position = bytes.withUnsafeBufferPointer { bytes in
            var index = position
            while index < bytes.count {
                let byte = bytes[index]
                if byte.isNameStart {
                    index += 1
                    while index < bytes.count, bytes[index].isNameStart || bytes[index].isDigit { index += 1 }
                } else if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 || byte == UInt8(ascii: ",") {
                    index += 1
                } else {
                    break
                }
            }
            return index
        }
    }

    private func text(_ name: Range<Int>) -> String { String(decoding: bytes[name], as: UTF8.self) }

    private func isNext(_ text: StaticString) -> Bool {
        guard bytes.count - position >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where bytes[position + index] != text.utf8Start[index] { return false }
        return true
    }

    /// Reads the next token. Returns `nil` if there is no valid token. GraphQL §2.1
    private mutating func next() -> Token? {
        skipIgnored()
        guard position < bytes.count else { return .end }
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "@"), UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "!"),
            UInt8(ascii: "|"), UInt8(ascii: "&"):
            position += 1
            return .punctuator(byte)
        case UInt8(ascii: "$"):
            position += 1
            return .other
        case UInt8(ascii: "."):
            guard isNext("...") else { return nil }
            position += 3
            return .other
        case UInt8(ascii: "\""):
            return skipString() ? .other : nil
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            position += 1
            while position < bytes.count, bytes[position].isNumberByte { position += 1 }
            return .other
        default:
            guard byte.isNameStart else { return nil }
            let start = position
            while position < bytes.count, bytes[position].isNameStart || bytes[position].isDigit {
                position += 1
            }
            return .name(start..<position)
        }
    }

    /// Skips white space, commas, byte order marks and comments, which have no meaning.
    private mutating func skipIgnored() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ","): position += 1
            case 0xEF where isNext("\u{FEFF}"): position += 3
            case UInt8(ascii: "#"):
                while position < bytes.count, bytes[position] != 0x0A, bytes[position] != 0x0D { position += 1 }
            default: return
            }
        }
    }

    /// Skips a string, or a block string in triple quotes. GraphQL §2.9.4
    private mutating func skipString() -> Bool {
        let isBlock = isNext("\"\"\"")
        position += isBlock ? 3 : 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                guard isBlock else {
                    position += 1
                    return true
                }
                guard !isNext("\"\"\"") else {
                    position += 3
                    return true
                }
                position += 1
            case UInt8(ascii: "\\"):
                if isBlock { position += isNext("\\\"\"\"") ? 4 : 1 } else { position += 2 }
            case 0x0A, 0x0D:
                guard isBlock else { return false }
                position += 1
            default: position += 1
            }
        }
        return false
    }
}

extension UInt8 {
    /// Whether the byte is a `NameStart`, which is a letter or an underscore.
    fileprivate var isNameStart: Bool { isAlpha || self == UInt8(ascii: "_") }
    fileprivate var isNumberByte: Bool {
        isDigit || isNameStart || self == UInt8(ascii: ".") || self == UInt8(ascii: "+")
            || self == UInt8(ascii: "-")
    }
}
