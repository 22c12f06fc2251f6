/// Arguments that a command does not take.
///
/// The parser would repeat them. A field that was typed without '--header' may hold a credential,
/// so an argument is named by its number unless it can hold none.
struct UnexpectedArgument: CustomStringConvertible {
    let description: String

    /// - Parameter parserMessage: the parser's error.
    /// - Returns: `nil` if the error is about something else.
    init?(in typed: TypedCommand, parserMessage: String) {
        guard parserMessage.hasPrefix("Unexpected argument ") || parserMessage.contains(" unexpected arguments: ")
        else { return nil }
        let parameters = typed.parameters
        let words = Self.positionals(typed.rest, parameters)
        let hasFields = parameters.names.contains("header")
        let places = words.enumerated().dropFirst(parameters.positionals).map { index, word in
            !hasFields && Self.isHarmless(word) ? "'\(word)'" : "number \(index + 1)"
        }
        let list = places.isEmpty ? "" : " " + places.joined(separator: ", ")
        let advice = hasFields ? ". Put a request field in quotes after '--header'" : ""
        description = "Unexpected argument\(places.count == 1 ? "" : "s")\(list)\(advice)"
    }

    /// Whether a word is short and no field, so that an error may repeat it.
    static func isHarmless(_ word: String) -> Bool {
        word.wholeMatch(of: /[A-Za-z0-9.\/_-]{1,32}/) != nil
    }

    /// The words that are neither an option nor an option's value.
    private static func positionals(
        _ words: ArraySlice<String>,
        _ parameters: TypedCommand.Parameters
    ) -> [String] {
        var found: [String] = []
        var rest = words
        while let word = rest.popFirst() {
            if word == "--" { return found + rest }
            guard word.hasPrefix("-"), word != "-" else {
                found.append(word)
                continue
            }
            if !word.contains("="), parameters.takesValue(word[...]) { _ = rest.popFirst() }
        }
        return found
    }
}
