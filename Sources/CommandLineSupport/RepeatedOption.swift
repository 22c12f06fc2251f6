/// The first option with one value that a command line sets several times.
///
/// The parser would silently use the last value. In a script, the first one is often the one that
/// was meant.
struct RepeatedOption: CustomStringConvertible {
    let description: String

    init?(in typed: TypedCommand) {
        let parameters = typed.parameters
        var seen: Set<String> = []
        var rest = typed.rest.prefix { $0 != "--" }
        while let word = rest.popFirst() {
            guard word.hasPrefix("-"), word != "-" else { continue }
            let option = word.prefix { $0 != "=" }
            guard parameters.takesValue(option) else { continue }
            if option.count == word.count { _ = rest.popFirst() }
            guard let name = parameters.single(option) else { continue }
            guard seen.insert(name).inserted else {
                description = "'\(option)' is set twice, but has one value. Set it once"
                return
            }
        }
        return nil
    }
}
