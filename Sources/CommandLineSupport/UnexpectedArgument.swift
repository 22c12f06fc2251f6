/// Arguments that a command does not take.
///
/// The parser would repeat them. A field that was typed without '--header' may hold a credential,
/// so an argument is named by its number unless it can hold none.
struct UnexpectedArgument: CustomStringConvertible {
    let description: String

    /// - Parameter parserMessage: the parser's error.
    /// - Returns: `nil` if the error is about something else.
    init?(in typed: TypedCommand, parserMessage: String) {
        let parameters = typed.parameters
        // A command checks its options before the parser notices an argument.
        guard
            parserMessage.hasPrefix("Unexpected argument ") || parserMessage.contains(" unexpected arguments: ")
                || parameters.positionals == 0 && !Self.positionals(typed.rest, parameters).isEmpty
        else { return nil }
        let words = Self.positionals(typed.rest, parameters)
        let hasFields = parameters.names.contains("header")
        let places = words.enumerated().dropFirst(parameters.positionals).map { index, word in
            !hasFields && Self.isHarmless(word) ? "'\(word)'" : "number \(index + 1)"
        }
        let list = places.isEmpty ? "" : " " + places.joined(separator: ", ")
        var advice = hasFields ? ". Put a request field in quotes after '--header'" : ""
        if parameters.names.contains("config"), words.count == 1, let file = words.first(where: Self.isFile) {
            advice = ". Write '--config \(file)'"
        }
        description = "Unexpected argument\(places.count == 1 ? "" : "s")\(list)\(advice)"
    }

    /// Whether a word is short and no field, so that an error may repeat it.
    static func isHarmless(_ word: String) -> Bool {
        word.wholeMatch(of: /[A-Za-z0-9.\/_-]{1,32}/) != nil
    }

    /// Whether a word is probably the path of a configuration file.
    private static func isFile(_ word: String) -> Bool {
        isHarmless(word) && [".yaml", ".yml", ".json"].contains { word.hasSuffix($0) }
    }

    /// The words that are neither an option nor an option's value.
    static func positionals(
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
