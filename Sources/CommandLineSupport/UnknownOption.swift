package import ArgumentParser
import Foundation

extension ParsableCommand {
    /// Ends the process because of what parsing the command line threw.
    ///
    /// An option that the command does not know comes before all else: what the parser finds
    /// missing is often only misspelt, and it looks for that first.
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

/// The first option of a command line that its command does not know.
struct UnknownOption {
    var name: String
    var command: any ParsableCommand.Type
    /// As typed: the command's own name is the last.
    private var path: [String]

    /// - Parameter arguments: without the program's name.
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

    /// As the parser words its own errors.
    func message(root: any ParsableCommand.Type) -> String {
        """
        Error: Unknown option '\(name)'
        Usage: \(root.usageString(for: command))
          See '\(path.joined(separator: " ")) --help' for more information.
        """
    }

    /// The options of a command, as the parser tells tools of them.
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

        /// Short options may stand together: '-ab'.
        func contain(_ option: Substring) -> Bool {
            let names = (command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name) + ["help", "h"]
            let word = option.drop { $0 == "-" }
            if names.contains(String(word)) { return true }
            return !option.hasPrefix("--") && word.allSatisfy { names.contains(String($0)) }
        }
    }
}
