import CacheRules
import Yams

/// Parses YAML, and therefore JSON, into ``FileValue``.
///
/// Both the nesting depth and the number of values are limited after aliases are expanded, because
/// a small file can expand to a large document. The values of all files that one parser reads are
/// counted together.
struct Document {
    /// The maximum length of a file, in bytes.
    static let maximumLength = 16 << 20
    /// The maximum nesting of lists and mappings.
    static let maximumDepth = 32
    /// The maximum number of values and keys in all files. A value counts again each time an alias
    /// repeats it.
    static let maximumCount = 1_000_000

    private var count = 0

    /// Parses the text of a file.
    ///
    /// - Returns: `nil` for a file without content.
    mutating func read(_ text: String) throws(Refusal) -> FileValue? {
        // The parser rejects a byte order mark, which some editors write. YAML 1.2 §5.2
        let yaml = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        guard yaml.utf8.count <= Self.maximumLength else {
            throw Refusal("The file has \(yaml.utf8.count) bytes. The limit is \(Self.maximumLength).")
        }
        try AliasScan.check(yaml)
        let node: Node?
        do {
            // The resolver applies none of YAML's type rules: the setting determines the type of
            // its value.
            node = try Parser(yaml: yaml, resolver: .basic, encoding: .utf8).singleRoot()
        } catch let error as YamlError {
            throw Self.refusal(error, in: yaml)
        } catch {
            throw Refusal("The file is not valid YAML.")
        }
        guard let node else { return nil }
        return try value(node, depth: 0)
    }

    private mutating func value(_ node: Node, depth: Int) throws(Refusal) -> FileValue {
        let line = node.mark?.line ?? 1
        count += 1
        guard count <= Self.maximumCount else {
            throw Refusal(
                "The file has more than \(Self.maximumCount) values, including those that aliases repeat.",
                line: line
            )
        }
        guard depth <= Self.maximumDepth else {
            throw Self.tooDeep(line)
        }
        switch node {
        case .scalar(let scalar):
            return .text(scalar.string, isPlain: scalar.style == .plain || scalar.style == .any, line: line)
        case .sequence(let sequence):
            var values: [FileValue] = []
            for node in sequence { values.append(try value(node, depth: depth + 1)) }
            return .list(values, line: line)
        case .mapping(let mapping):
            try Self.checkKeys(of: mapping)
            var entries: [FileValue.Entry] = []
            for (key, node) in mapping {
                guard case .scalar(let name) = key else {
                    throw Refusal("A key must be text, not a list or a mapping.", line: key.mark?.line ?? line)
                }
                count += 1
                let value = try value(node, depth: depth + 1)
                entries.append(FileValue.Entry(key: name.string, line: name.mark?.line ?? line, value: value))
            }
            return .mapping(entries, line: line)
        case .alias:
            throw Refusal("An alias refers to an anchor that does not exist.", line: line)
        }
    }

    /// Converts the parser's error to a message. The error can contain the file's content, so the
    /// message uses only the parser's own words.
    private static func refusal(_ error: YamlError, in yaml: String) -> Refusal {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _):
            if hasCharacter("\t", line: mark.line, column: mark.column, in: yaml) {
                return Refusal("There is a tab at column \(mark.column). Indent YAML with spaces.", line: mark.line)
            }
            if let refusal = [mark.line, context?.mark.line ?? 0].lazy.compactMap({ indentation(ofLine: $0, in: yaml) })
                .first
            {
                return refusal
            }
            if let context, let refusal = openQuote(context, problem) { return refusal }
            // The parser has a limit of its own, and a message for the program's author.
            if problem.contains("nesting level") { return tooDeep(mark.line) }
            let place = context.map { " \($0.text)" } ?? ""
            return Refusal(
                "The file is not valid YAML at column \(mark.column):\(place) \(problem).\(advice(on: place + problem))",
                line: mark.line
            )
        case .composer(_, let problem, let mark, _):
            if problem.contains("another document") {
                return Refusal("A second document begins here. A file may contain only one.", line: mark.line)
            }
            return Refusal(
                "The file is not valid YAML at column \(mark.column): \(problem).\(advice(on: problem))",
                line: mark.line
            )
        case .reader(let problem, let offset, _, _):
            let before = yaml.prefix(offset ?? 0)
            return Refusal("The file is not valid YAML: \(problem).", line: 1 + before.count { $0.isNewline })
        case .duplicatedKeysInMapping(let names, let context):
            if let line = repetition(of: names, context.mark, in: yaml) {
                return Refusal(
                    "Duplicate key: \(shown(names[0])) is also on line \(context.mark.line). Each key may occur only once in a mapping.",
                    line: line
                )
            }
            let keys = names.map { shown($0) }.joined(separator: ", ")
            return Refusal(
                "Duplicate keys: \(keys). Each key may occur only once in a mapping.",
                line: max(1, context.mark.line)
            )
        default:
            return Refusal("The file is not valid YAML.")
        }
    }

    private static func tooDeep(_ line: Int) -> Refusal {
        Refusal("Lists and mappings are nested more than \(maximumDepth) levels deep.", line: line)
    }

    /// Returns the next step for the parser's words, after a space; empty if there is none.
    private static func advice(on problem: String) -> String {
        if problem.contains("alias") { return " Quote values that begin with '*'." }
        if problem.contains("cannot start any token") {
            return " Quote values that begin with '@', '%' or a backquote."
        }
        if problem.contains("mapping values are not allowed") {
            return " Check the indentation, and quote values that contain ': '."
        }
        if problem.contains("expected ',' or") {
            return " Check the brackets, and quote values that contain ': ' or '{', such as \"${NAME}/x\"."
        }
        let words = ["expected '-' indicator", "expected key"]
        return words.contains { problem.contains($0) } ? " Check the indentation." : ""
    }

    /// Returns the line on which a key occurs again: the next line with the same indentation.
    ///
    /// - Parameters:
    ///   - names: the repeated keys.
    ///   - mark: where the key is first.
    /// - Returns: `nil` if several keys are repeated, or if the mapping is not written in lines.
    private static func repetition(of names: [String], _ mark: Mark, in yaml: String) -> Int? {
        guard names.count == 1, mark.line > 0, mark.column > 0 else { return nil }
        let lines = yaml.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let key = Array(names[0].utf8) + [UInt8(ascii: ":")]
        for (index, line) in lines.enumerated().dropFirst(mark.line) {
            let text = line.drop { $0 == 0x20 }
            let indentation = line.count - text.count
            guard let first = text.first, first != UInt8(ascii: "#"), first != 0x0D else { continue }
            if indentation < mark.column - 1 { return nil }
            if indentation == mark.column - 1, text.starts(with: key) { return index + 1 }
        }
        return nil
    }

    /// Returns whether a character is at a line and column, both counted from 1.
    private static func hasCharacter(_ scalar: Unicode.Scalar, line: Int, column: Int, in yaml: String) -> Bool {
        guard line > 0, column > 0 else { return false }
        let lines = yaml.unicodeScalars.split(separator: "\n", maxSplits: line, omittingEmptySubsequences: false)
        return line <= lines.count && lines[line - 1].dropFirst(column - 1).first == scalar
    }
}
