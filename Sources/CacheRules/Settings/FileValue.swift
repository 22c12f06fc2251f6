import HTTPCacheSemantics

/// A value in a file, with its line. Aliases are expanded.
package indirect enum FileValue {
    /// A scalar. `isPlain` means that it has no quotes. An empty plain scalar means that there is
    /// no value.
    case text(String, isPlain: Bool, line: Int)
    case list([FileValue], line: Int)
    case mapping([Entry], line: Int)

    /// A key and its value.
    package struct Entry {
        package var key: String
        package var line: Int
        package var value: FileValue

        package init(key: String, line: Int, value: FileValue) {
            self.key = key
            self.line = line
            self.value = value
        }

        /// Reads the value of a part of a setting. A refusal names the part.
        package func reading<Result>(_ read: (FileValue) throws(Refusal) -> Result) throws(Refusal) -> Result {
            do throws(Refusal) {
                return try read(value)
            } catch {
                throw Refusal("'\(key)': \(error.message)", line: error.line ?? value.line)
            }
        }

        /// Returns the value of a part that is true or false.
        package func flag() throws(Refusal) -> Bool { try reading { (value) throws(Refusal) in try value.flag() } }
    }

    package var line: Int {
        switch self {
        case .text(_, _, let line), .list(_, let line), .mapping(_, let line): line
        }
    }

    /// The value as shown in messages.
    package var shown: String {
        switch self {
        case .text("", isPlain: true, _): "nothing"
        case .text(let text, _, _): CacheRules.shown(text)
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }

    /// The kind of the value, without its text.
    package var kind: String { if case .text(let text, _, _) = self, !text.isEmpty { "text" } else { shown } }

    /// Returns a string that is not empty.
    package func text(_ expected: String = "text") throws(Refusal) -> String {
        guard case .text(let text, _, _) = self, !text.isEmpty else {
            throw Refusal("Expected \(expected), not \(shown).", line: line)
        }
        return text
    }

    /// Returns a list. A single value counts as a list of one value. The result is never empty.
    package func list(of expected: String) throws(Refusal) -> [FileValue] {
        switch self {
        case .list(let values, _) where !values.isEmpty: return values
        case .text(let text, _, _) where !text.isEmpty: return [self]
        case .list(_, let line):
            throw Refusal("The list is empty. Add \(expected), or remove the setting.", line: line)
        default: throw Refusal("Expected \(expected), or a list of them, not \(shown).", line: line)
        }
    }

    ///
    /// - Parameter isSecret: whether text in its place may be a secret.
    package func entries(_ expected: String, isSecret: Bool = false) throws(Refusal) -> [Entry] {
        guard case .mapping(let entries, _) = self else {
            throw Refusal("Expected \(expected), not \(isSecret ? kind : shown).", line: line)
        }
        return entries
    }

    /// Returns the name of an environment variable. Other text is not shown, because it may be the
    /// secret itself.
    package func variable() throws(Refusal) -> String {
        guard case .text(let name, _, _) = self, !name.isEmpty,
            name.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: "_") })
        else { throw Refusal("Expected the name of a variable: letters, digits and '_'.", line: line) }
        return name
    }

    /// Whether the value is `off`, in any YAML or JSON spelling.
    package var isOff: Bool {
        guard case .text(let text, _, _) = self else { return false }
        return ["off", "false", "no"].contains(text.lowercased())
    }

    package func flag() throws(Refusal) -> Bool {
        guard case .text(let text, _, _) = self else {
            throw Refusal("Expected true or false, not \(shown).", line: line)
        }
        switch text.lowercased() {
        case "true", "on", "yes": return true
        case "false", "off", "no": return false
        default: throw Refusal("Expected true or false, not \(shown).", line: line)
        }
    }

    package func integer(_ range: ClosedRange<Int>) throws(Refusal) -> Int {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard case .text(let text, _, _) = self, let number = Int(text), range.contains(number) else {
            throw Refusal("Expected \(expected), not \(shown).", line: line)
        }
        return number
    }

    /// Returns a number from 0 to 1.
    package func share() throws(Refusal) -> Double {
        guard case .text(let text, _, _) = self, let number = Double(text), (0...1).contains(number) else {
            throw Refusal("Expected a number from 0 to 1, not \(shown).", line: line)
        }
        return number
    }

    /// Returns the value that belongs to this word in a list of known words.
    package func word<Value>(_ known: [(String, Value)]) throws(Refusal) -> Value {
        if case .text(let text, _, _) = self, let value = known.first(where: { $0.0 == text })?.1 { return value }
        throw Refusal("Expected \(choice(known.map(\.0))), not \(shown).", line: line)
    }
}
