import ArgumentParser

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A command line as typed: its command, and the words after the command's name.
struct TypedCommand {
    private(set) var command: any ParsableCommand.Type
    /// The commands as typed, from the outermost to the innermost.
    private(set) var path: [String]
    private(set) var rest: ArraySlice<String>
    private let root: any ParsableCommand.Type

    /// - Parameter arguments: the arguments without the program's name.
    init(_ arguments: [String], of root: any ParsableCommand.Type) {
        self.root = root
        command = root
        path = [root._commandName]
        rest = arguments[...]
        while let word = rest.first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        {
            command = next
            path.append(word)
            rest = rest.dropFirst()
        }
    }

    /// The first of the words that names a subcommand: this command, if an option comes before its
    /// subcommand.
    var later: TypedCommand? {
        let names = command.configuration.subcommands.map { $0._commandName }
        return rest.first { names.contains($0) }.map { TypedCommand(path.dropFirst() + [$0], of: root) }
    }

    /// Returns an error message, worded like the parser's own errors.
    func message(_ error: String) -> String {
        """
        Error: \(error)
        Usage: \(root.usageString(for: command))
          See '\(path.joined(separator: " ")) --help' for more information.
        """
    }

    /// The parameters of the command, from the description that the parser gives to tools.
    var parameters: Parameters {
        let own = try? JSONDecoder().decode(Parameters.self, from: Data(command._dumpHelp().utf8))
        return own ?? Parameters(command: Parameters.Command())
    }

    /// The arguments and options of a command.
    struct Parameters: Decodable {
        struct Command: Decodable { var arguments: [Argument]? }
        struct Argument: Decodable {
            var kind: String
            var names: [Name]?
            var valueName: String?
            var isRepeating: Bool?
        }
        struct Name: Decodable { var name: String }

        private enum CodingKeys: CodingKey { case command }

        private var command: Command

        fileprivate init(command: Command) { self.command = command }

        private var arguments: [Argument] { command.arguments ?? [] }

        /// The number of arguments that are not options. A repeatable one counts once; such a
        /// command has no unexpected argument.
        var positionals: Int { arguments.count { $0.kind == "positional" } }

        /// The names of the options, without dashes.
        var names: [String] { arguments.flatMap { $0.names ?? [] }.map(\.name) + ["help", "h"] }

        /// Returns whether the command has an option. Short options may be combined, as in `-ab`.
        func contain(_ option: Substring) -> Bool {
            let names = names
            let word = option.drop { $0 == "-" }
            if names.contains(String(word)) { return true }
            return !option.hasPrefix("--") && word.allSatisfy { names.contains(String($0)) }
        }

        /// Whether the command runs another command, which is written after `--`.
        var runsCommand: Bool { arguments.contains { $0.kind == "positional" && $0.valueName == "command" } }

        /// Returns a name for an option that has one value; `nil` for other options.
        func single(_ option: Substring) -> String? {
            let word = option.drop { $0 == "-" }
            let argument = arguments.first { argument in
                argument.kind == "option" && argument.names?.contains { $0.name == word } == true
            }
            return argument?.isRepeating == true ? nil : argument?.names?.first?.name
        }

        /// Returns whether the word after an option is its value.
        func takesValue(_ option: Substring) -> Bool {
            let word = option.drop { $0 == "-" }
            return arguments.contains { argument in
                argument.kind == "option" && argument.names?.contains { $0.name == word } == true
            }
        }
    }
}
