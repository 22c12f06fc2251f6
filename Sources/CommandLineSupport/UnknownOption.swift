package import ArgumentParser

extension ParsableCommand {
    /// Ends the process with the error from parsing the command line.
    ///
    /// An unknown command or option is reported first. An argument that the parser reports as
    /// missing is often just misspelled, and the parser checks for missing arguments first.
    package static func exitAfterParsing(_ error: any Error) -> Never {
        if exitCode(for: error) == .validationFailure {
            let typed = TypedCommand(Array(CommandLine.arguments.dropFirst()), of: self)
            let found =
                UnknownCommand(in: typed)?.description ?? UnknownOption(in: typed)?.description
                ?? UnexpectedArgument(in: typed, parserMessage: message(for: error))?.description
            if let found {
                StandardStream.error.line(typed.message(found))
                exit(withError: ExitCode.validationFailure)
            }
        }
        exit(withError: error)
    }

    /// Ends the process if an option with one value is set several times. The parser accepts that.
    package static func exitIfOptionIsRepeated() {
        let typed = TypedCommand(Array(CommandLine.arguments.dropFirst()), of: self)
        guard let found = RepeatedOption(in: typed)?.description else { return }
        StandardStream.error.line(typed.message(found))
        exit(withError: ExitCode.validationFailure)
    }

    /// Ends the process with the error that a command threw. A command that finds its command line
    /// invalid only when it runs exits like one that the parser rejects.
    package static func exitAfterRunning(_ error: any Error) -> Never {
        if let invalid = error as? ValidationError {
            let typed = TypedCommand(Array(CommandLine.arguments.dropFirst()), of: self)
            StandardStream.error.line(typed.message(invalid.message))
            exit(withError: ExitCode.validationFailure)
        }
        exit(withError: error)
    }
}

/// The first option on a command line that its command does not recognize.
struct UnknownOption: CustomStringConvertible {
    var name: String
    private let known: [String]
    /// The command that has the option, if the option comes before it.
    private let owner: String?
    /// Whether the option probably belongs to the command that this command runs.
    private let isAfterCommand: Bool

    init?(in typed: TypedCommand) {
        let parameters = typed.parameters
        let unknown = typed.rest.prefix { $0 != "--" }.lazy
            .compactMap { $0.split(separator: "=", omittingEmptySubsequences: false).first }
            .first { $0.wholeMatch(of: /--?[A-Za-z][A-Za-z0-9-]*/) != nil && !parameters.contain($0) }
        guard let unknown else { return nil }
        name = String(unknown)
        known = parameters.names
        let before = typed.rest.prefix { !$0.hasPrefix(unknown) }
        isAfterCommand =
            parameters.runsCommand && !typed.rest.contains("--")
            && UnexpectedArgument.positionals(before, parameters).count > 1
        owner = typed.later.flatMap { $0.parameters.contain(unknown) ? $0.path.joined(separator: " ") : nil }
    }

    var description: String {
        if let owner { return "Unknown option '\(name)'. Options follow the command: '\(owner) \(name) …'" }
        let similar = name.hasPrefix("--") ? Self.similar(to: String(name.dropFirst(2)), in: known) : nil
        if similar == nil, isAfterCommand { return "Unknown option '\(name)'. Write '--' before the command to run" }
        return "Unknown option '\(name)'" + (similar.map { ". Did you mean '--\($0)'?" } ?? "")
    }
}

extension UnknownOption {
    /// The names that other servers give to an option.
    private static let synonyms = ["port": "listen"]

    private static func similar(to word: String, in known: [String]) -> String? {
        if let synonym = synonyms[word], known.contains(synonym) { return synonym }
        return Spelling.nearest(to: word, in: known)
    }
}

/// A word in the place of a subcommand that is none.
struct UnknownCommand: CustomStringConvertible {
    let description: String

    init?(in typed: TypedCommand) {
        let names = typed.command.configuration.subcommands.map { $0._commandName }
        // The parser has the command 'help' itself.
        guard !names.isEmpty, let word = typed.rest.first, !word.hasPrefix("-"), word != "help" else { return nil }
        let similar = Spelling.nearest(to: word, in: names).map { ". Did you mean '\($0)'?" } ?? ""
        description = (UnexpectedArgument.isHarmless(word) ? "Unknown command '\(word)'" : "Unknown command") + similar
    }
}
