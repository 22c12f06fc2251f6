import HTTPCacheSemantics

/// The path of a value in structured content: the names of object members and the indexes of array
/// elements.
///
/// ```swift
/// let title: ValuePath = "data.moments[0].title"
/// let reason = ValuePath("error>errMsg", separator: ">")
/// ```
///
/// Names are separated by dots, or by a separator that you choose:
/// - An index is `[0]`, or a number between separators (`moments.0.title`), which is treated as a
///   name if the container is an object.
/// - A backslash makes the next character literal: `a\.b` is one name, and `\0` is the name "0".
/// - `[]` is the empty name.
/// - Empty components between separators are ignored.
///
/// Names are the names that the decoder produces. A `JSONDecoder` that converts from snake case
/// produces `userDetails` for `user_details`.
public struct ValuePath: Sendable, Hashable {
    /// One step of a path.
    public enum Step: Sendable, Hashable {
        /// A member of an object.
        case name(String)
        /// An element of an array, starting at 0. In an object, the member that has this number as
        /// its name.
        case index(Int)
    }

    /// The steps, starting at the top level.
    public var steps: [Step]

    /// Creates a path from steps. A path without steps is the top level.
    public init(_ steps: [Step] = []) {
        self.steps = steps
    }

    /// Creates a path from text.
    ///
    /// - Parameter separator: the separator between names. It must not be a backslash or a square
    ///   bracket.
    public init(_ text: String, separator: Character = ".") {
        precondition(!#"\[]"#.contains(separator), "'\(separator)' has a special meaning in a path.")
        var parser = Parser(text: text[...], separator: separator)
        steps = parser.steps()
    }

    /// Whether the path is the top level.
    public var isEmpty: Bool { steps.isEmpty }

    /// Returns this path followed by another path.
    public func appending(_ other: ValuePath) -> ValuePath {
        ValuePath(steps + other.steps)
    }
}

extension ValuePath: ExpressibleByStringLiteral {
    /// Creates a path from text, with dots between names.
    public init(stringLiteral text: String) {
        self.init(text, separator: ".")
    }
}

extension ValuePath: CustomStringConvertible {
    /// The path as text, with dots between names. ``init(_:separator:)`` parses it to the same
    /// path. Empty for the top level.
    public var description: String {
        var text = ""
        for step in steps {
            switch step {
            case .index(let index): text += "[\(index)]"
            case .name(""): text += "[]"
            case .name(let name):
                if !text.isEmpty { text += "." }
                if Int(index: name[...]) != nil { text += #"\"# }
                for character in name {
                    if #".\[]"#.contains(character) { text += #"\"# }
                    text.append(character)
                }
            }
        }
        return text
    }
}

extension ValuePath {
    /// Creates a path from a decoder's coding path.
    package init(_ codingPath: [any CodingKey]) {
        steps = codingPath.map { key in key.intValue.map(Step.index) ?? .name(key.stringValue) }
    }
}

extension ValuePath {
    private struct Parser {
        var text: Substring
        let separator: Character
        /// The name that is being read; `nil` between names.
        var name: String?
        /// Whether the name contains an escaped character, in which case it is not a number.
        var isLiteral = false

        mutating func steps() -> [Step] {
            var steps: [Step] = []
            while let character = text.popFirst() {
                if character == separator {
                    endName(&steps)
                } else if character == "[", let step = bracketed() {
                    endName(&steps)
                    steps.append(step)
                } else if character == #"\"#, let literal = text.popFirst() {
                    isLiteral = true
                    name = (name ?? "") + String(literal)
                } else {
                    name = (name ?? "") + String(character)
                }
            }
            endName(&steps)
            return steps
        }

        /// Reads the text after an opening bracket if it is an index or empty. Otherwise the
        /// bracket is part of a name.
        private mutating func bracketed() -> Step? {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let index = Int(index: text[..<end])
            guard index != nil || end == text.startIndex else { return nil }
            text = text[text.index(after: end)...]
            return index.map(Step.index) ?? .name("")
        }

        private mutating func endName(_ steps: inout [Step]) {
            defer { (name, isLiteral) = (nil, false) }
            guard let name else { return }
            steps.append(isLiteral ? .name(name) : Int(index: name[...]).map(Step.index) ?? .name(name))
        }
    }
}

extension Int {
    /// Reads an index: digits without leading zeros.
    fileprivate init?(index text: Substring) {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), text == "0" || text.first != "0" else { return nil }
        self.init(text)
    }
}
