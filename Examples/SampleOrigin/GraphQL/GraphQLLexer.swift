/// Splits a GraphQL document into tokens. Skips whitespace, commas and comments.
enum GraphQLLexer {
    enum Token: Equatable {
        case name(String)
        case string(String)
        /// A number, as written in the document.
        case number(String)
        /// One of `{ } ( ) [ ] : = ! $ @ | &`, or `.` for each of the three dots of a spread.
        case punctuator(Character)
    }

    private static let punctuators = Set("{}()[]:=!$@|&.")

    static func tokens(of text: String) throws -> [Token] {
        var tokens: [Token] = []
        var rest = Substring(text)
        while let character = rest.first {
            if character.isWhitespace || character == "," || character == "\u{FEFF}" {
                rest.removeFirst()
            } else if character == "#" {
                rest = rest.drop { !$0.isNewline }
            } else if punctuators.contains(character) {
                tokens.append(.punctuator(character))
                rest.removeFirst()
            } else if character == "\"" {
                tokens.append(.string(try string(&rest)))
            } else if character == "_" || character.isASCII && character.isLetter {
                let name = rest.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
                tokens.append(.name(String(name)))
                rest = rest[name.endIndex...]
            } else if character == "-" || character.isASCII && character.isNumber {
                let number = rest.prefix { "+-.eE".contains($0) || $0.isASCII && $0.isNumber }
                tokens.append(.number(String(number)))
                rest = rest[number.endIndex...]
            } else {
                throw GraphQLSyntaxError("unexpected character '\(character)'")
            }
        }
        return tokens
    }

    private static func string(_ rest: inout Substring) throws -> String {
        if rest.hasPrefix("\"\"\"") { return try blockString(&rest) }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return value
            case "\\": value.append(try escape(&rest))
            case _ where character.isNewline: throw GraphQLSyntaxError("a string ends at the end of its line")
            default: value.append(character)
            }
        }
        throw GraphQLSyntaxError("a string does not end")
    }

    private static func escape(_ rest: inout Substring) throws -> Character {
        switch rest.popFirst() {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case let character? where "\"\\/".contains(character): return character
        case "u":
            let digits = rest.prefix(4)
            rest = rest.dropFirst(4)
            guard digits.count == 4, let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
                throw GraphQLSyntaxError("'\\u\(digits)' is not a character")
            }
            return Character(scalar)
        default: throw GraphQLSyntaxError("a string contains an unknown escape")
        }
    }

    /// Reads the raw content of a block string. Keeps its indentation, because nothing here depends
    /// on it.
    private static func blockString(_ rest: inout Substring) throws -> String {
        rest = rest.dropFirst(3)
        var value = ""
        while !rest.isEmpty {
            if rest.hasPrefix("\"\"\"") {
                rest = rest.dropFirst(3)
                return value
            }
            value.append(rest.removeFirst())
        }
        throw GraphQLSyntaxError("a block string does not end")
    }
}
