import CacheRules
import Yams

/// YAML that the parser accepts, but that does not mean what its author meant.
extension Document {
    static let noBreakSpace: Unicode.Scalar = "\u{A0}"

    /// Checks the keys of a mapping. No message shows a value, because it may be a secret.
    static func checkKeys(of mapping: Node.Mapping) throws(Refusal) {
        // The key before, if its value is plain text.
        var before: Node.Scalar?
        for (key, value) in mapping {
            guard case .scalar(let name) = key else { continue }
            let line = name.mark?.line
            if name.string == "<<", isPlain(name) {
                throw Refusal(
                    "Merge keys ('<<') are not supported. Repeat the settings, or use an alias for a whole value, such as 'freshness: *name'.",
                    line: line
                )
            }
            if name.string.unicodeScalars.first == noBreakSpace, isPlain(name) {
                throw indentation(line: line ?? 1, column: name.mark?.column ?? 1)
            }
            guard case .scalar(let text) = value, isPlain(text) else {
                before = nil
                continue
            }
            // Only a mapping in braces has two keys on one line. Its style is unreliable: Yams
            // reads it from the event that ends the mapping.
            if text.string.isEmpty, let before, before.mark?.line == line {
                throw Refusal(
                    "\(shown(name.string)) has no value. If it belongs to \(shown(before.string)), a list needs brackets, such as '[a, b]'.",
                    line: line
                )
            }
            before = text.string.isEmpty ? nil : name
        }
    }

    private static func isPlain(_ scalar: Node.Scalar) -> Bool { scalar.style == .plain || scalar.style == .any }

    /// Returns the refusal of a quote that is never closed; `nil` for another fault. The parser
    /// finds the fault at the end of the file.
    static func openQuote(_ context: YamlError.Context, _ problem: String) -> Refusal? {
        guard context.text.contains("quoted scalar"), problem.contains("unexpected") else { return nil }
        return Refusal(
            "The quote at column \(context.mark.column) is never closed. Close it.",
            line: context.mark.line
        )
    }

    /// Returns the refusal of a no-break space in a line's indentation; `nil` if it has none.
    static func indentation(ofLine line: Int, in yaml: String) -> Refusal? {
        guard line > 0 else { return nil }
        let lines = yaml.unicodeScalars.split(separator: "\n", maxSplits: line, omittingEmptySubsequences: false)
        guard line <= lines.count else { return nil }
        let spaces = lines[line - 1].prefix { $0 == " " || $0 == noBreakSpace }
        guard let column = spaces.enumerated().first(where: { $0.element == noBreakSpace })?.offset else { return nil }
        return indentation(line: line, column: column + 1)
    }

    private static func indentation(line: Int, column: Int) -> Refusal {
        Refusal("There is a no-break space (U+00A0) at column \(column). Indent YAML with spaces.", line: line)
    }
}
