package import ArgumentParser
import Foundation

extension ParsableCommand {
    /// Ends the process with the error from parsing the command line.
    ///
    /// An unknown option is reported first. An argument that the parser reports as missing is often
    /// just misspelled, and the parser checks for missing arguments first.
    package static func exitAfterParsing(_ error: any Error) -> Never {
        if exitCode(for: error) == .validationFailure,
            let unknown = UnknownOption(in: Array(CommandLine.arguments.dropFirst()), of: self)
        {
            StandardStream.error.line(unknown.message(root: self))
            exit(withError: ExitCode.validationFailure)
        }
        exit(withError: error)
    }
}

/// The first option on a command line that its command does not recognize.
struct UnknownOption {
    var name: String
    var command: any ParsableCommand.Type
    /// The commands as typed, from the outermost to the innermost.
    private var path: [String]

    /// - Parameter arguments: the arguments without the program's name.
    init?(in arguments: [String], of root: any ParsableCommand.Type) {
        command = root
        path = [root._commandName]
        var rest = arguments[...]
        while let word = rest.first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        {
            command = next
            path.append(word)
            rest = rest.dropFirst()
        }
        let known = Names(command)
        let unknown = rest.prefix { $0 != "--" }.lazy
            .compactMap { $0.split(separator: "=", omittingEmptySubsequences: false).first }
            .first { $0.wholeMatch(of: /--?[A-Za-z][A-Za-z0-9-]*/) != nil && !known.contain($0) }
        guard let unknown else { return nil }
        name = String(unknown)
    }

    /// The message, worded like the parser's own errors.
    func message(root: any ParsableCommand.Type) -> String {
        """
        Error: Unknown option '\(name)'
        Usage: \(root.usageString(for: command))
          See '\(path.joined(separator: " ")) --help' for more information.
        """
    }

    /// The options of a command, from the description that the parser gives to tools.
    private struct Names: Decodable {
        struct Command: Decodable { var arguments: [Argument]? }
        struct Argument: Decodable { var names: [Name]? }
        struct Name: Decodable { var name: String }

        private enum CodingKeys: CodingKey { case command }

        private var command: Command

        init(_ type: any ParsableCommand.Type) {
            let own = try? JSONDecoder().decode(Self.self, from: Data(type._dumpHelp().utf8))
            self = own ?? Names(command: Command())
        }

        private init(command: Command) { self.command = command }

        /// Returns whether the command has an option. Short options may be combined, as in `-ab`.
        func contain(_ option: Substring) -> Bool {
            let names = (command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name) + ["help", "h"]
            let word = option.drop { $0 == "-" }
            if names.contains(String(word)) { return true }
            return !option.hasPrefix("--") && word.allSatisfy { names.contains(String($0)) }
        }
    }
}
