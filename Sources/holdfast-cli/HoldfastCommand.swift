import ArgumentParser
import CommandLineSupport

/// `holdfast`: the request layer and the gateway for the shell.
@main
struct HoldfastCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "holdfast",
        abstract: "Keeps a service responding when the network does not.",
        discussion: """
            Stores responses in a folder by the rules of HTTP caching (RFC 9111), and serves them when the origin is unreachable. \
            'cache-dump' shows the content of a store.
            """,
        version: Release.version,
        subcommands: [
            Get.self, Serve.self, Inspect.self, Status.self, Mode.self, Drain.self, Staleness.self, Purge.self,
            Pin.self, Unpin.self, Origins.self, Reload.self, Try.self, Explain.self, Check.self, Schema.self,
            FleetCommand.self, RulesCommand.self, Record.self, Replay.self, Jobs.self,
        ]
    )

    /// The old names of commands that were renamed before the first release, with their new names.
    private static let formerNames = ["shared": "fleet"]

    /// Joins a negative number to its option, as in '--for=-2h'. The parser would read '-2h' as two
    /// flags, and the second one shows the help.
    private static func joiningNegativeValues(_ words: ArraySlice<String>) -> [String] {
        words.reduce(into: []) { joined, word in
            if let option = joined.last, option.wholeMatch(of: /--[^=]+/) != nil, !joined.contains("--"),
                word.prefixMatch(of: /-[0-9]/) != nil
            {
                joined[joined.count - 1] = "\(option)=\(word)"
            } else {
                joined.append(word)
            }
        }
    }

    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        // First, while there is only one thread.
        if words.first == IsolatedProcess.word { IsolatedProcess.run(Array(words.dropFirst())) }
        if words.first == Serve._commandName { EarlySignals.hold() }
        StandardStream.prepare()
        if let name = words.first, let new = formerNames[name] {
            StandardStream.error.line("Error: 'holdfast \(name)' was renamed. Use 'holdfast \(new)'.")
            exit(withError: ExitCode.validationFailure)
        }
        var command: any ParsableCommand
        do { command = try parseAsRoot(joiningNegativeValues(words)) } catch { exitAfterParsing(error) }
        exitIfOptionIsRepeated()
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            exitAfterRunning(error)
        }
    }
}
