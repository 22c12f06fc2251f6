import Testing

/// If a command gets an unknown option, its error is about that, whatever else is missing or wrong.
@Suite(.timeLimit(.minutes(20))) struct UnknownOptionTests {
    /// Every command of every tool that has required arguments, or checks them itself.
    static let commands = [
        "holdfast", "holdfast get", "holdfast serve", "holdfast explain", "holdfast check", "holdfast record",
        "holdfast replay", "holdfast rules",
        "holdfast rules diff", "holdfast rules apply", "cache-dump", "cache-dump list", "cache-dump show",
        "cache-dump stats", "cache-dump verify", "cache-dump recover", "sample-origin",
    ]

    @Test(arguments: commands, ["--unknown", "--unknown=1", "-Z"])
    func unknownOptionIsNamed(command: String, option: String) async throws {
        let words = command.split(separator: " ").map(String.init)
        let name = option == "--unknown=1" ? "--unknown" : option
        let outcome = try await Tool(words[0]).run(arguments: words.dropFirst() + [option])
        let lines = outcome.error.split(separator: "\n")
        #expect(outcome.status == 64 && outcome.output.isEmpty)
        #expect(lines.first == "Error: Unknown option '\(name)'", "\(outcome.error)")
        #expect(lines.dropFirst().first?.hasPrefix("Usage: \(command)") == true, "\(outcome.error)")
        #expect(lines.last == "  See '\(command) --help' for more information.", "\(outcome.error)")
    }

    @Test(arguments: [
        ["holdfast", "serve", "--origin", "ftp://a.example", "--orgin", "http://a.example"],
        ["holdfast", "serve", "--store", "s", "--orgin=http://a.example"],
        ["holdfast", "get", "no URL", "--orgin"], ["holdfast", "get", "--offline", "--orgin"],
        ["holdfast", "explain", "https://a.example/", "--store", "s", "--at", "never", "--orgin"],
        ["cache-dump", "list", "--limit", "0", "--orgin"],
        ["cache-dump", "list", "s", "--kind", "objects", "--url-prefix", "a", "--orgin"],
    ])
    func unknownOptionPrecedesOtherErrors(words: [String]) async throws {
        let outcome = try await Tool(words[0]).run(arguments: Array(words.dropFirst()))
        #expect(outcome.status == 64)
        let advice = words[1] == "serve" ? ". Did you mean '--origin'?" : ""
        #expect(outcome.error.hasPrefix("Error: Unknown option '--orgin'\(advice)\n"), "\(outcome.error)")
    }

    @Test(arguments: [
        (["holdfast", "servee"], "Unknown command 'servee'. Did you mean 'serve'?"),
        (["holdfast", "servee", "--orgin", "http://a.example"], "Unknown command 'servee'. Did you mean 'serve'?"),
        (["holdfast", "fleet", "statsu"], "Unknown command 'statsu'. Did you mean 'status'?"),
        (["holdfast", "wombat"], "Unknown command 'wombat'"),
        (["cache-dump", "lst"], "Unknown command 'lst'. Did you mean 'list'?"),
        (["cache-dump", "list", "s", "--kindd", "objects"], "Unknown option '--kindd'. Did you mean '--kind'?"),
        (["cache-dump", "list", "s", "--wombat"], "Unknown option '--wombat'"),
        (
            ["holdfast", "--config", "a.yaml", "serve"],
            "Unknown option '--config'. Options follow the command: 'holdfast serve --config …'"
        ),
        (["holdfast", "--content", "x", "serve"], "Unknown option '--content'"),
        (["holdfast", "serve", "--port", "8080"], "Unknown option '--port'. Did you mean '--listen'?"),
        (["holdfast", "record", "deps", "curl", "-s"], "Unknown option '-s'. Write '--' before the command to run"),
        (["holdfast", "record", "deps", "--stor", "s"], "Unknown option '--stor'. Did you mean '--store'?"),
        (["holdfast", "replay", "deps", "-s", "--", "curl"], "Unknown option '-s'"),
    ])
    func similarNamesAreSuggested(words: [String], error: String) async throws {
        let outcome = try await Tool(words[0]).run(arguments: Array(words.dropFirst()))
        #expect(outcome.status == 64 && outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("Error: \(error)\nUsage: "), "\(outcome.error)")
    }

    /// Mutant: the last value of an option wins.
    @Test(arguments: [
        (["holdfast", "check", "--config", "a.yaml", "--config=b.yaml"], "--config"),
        (["holdfast", "serve", "--origin", "http://a.example", "--origin", "http://b.example"], "--origin"),
        (["cache-dump", "list", "s", "--limit=1", "--limit", "2"], "--limit"),
    ])
    func repeatedOptionIsRejected(words: [String], option: String) async throws {
        let outcome = try await Tool(words[0]).run(arguments: Array(words.dropFirst()))
        #expect(outcome.status == 64 && outcome.output.isEmpty)
        let words = "Error: '\(option)' is set twice, but has one value. Set it once\nUsage: "
        #expect(outcome.error.hasPrefix(words), "\(outcome.error)")
    }

    /// An option of the command that 'record' runs, and one with several values, may be repeated.
    @Test(arguments: [
        ["record", "deps", "--store", "/dev/null/s", "--", "sh", "--store", "a", "--store", "b"],
        ["purge", "--tag", "a", "--tag", "b", "--store", "none"],
    ])
    func otherOptionsMayBeRepeated(words: [String]) async throws {
        let outcome = try await Tool("holdfast").run(arguments: words)
        #expect(outcome.status != 0 && !outcome.error.contains("is set twice"), "\(outcome)")
    }

    /// A field without its option, or without its colon, may be a credential.
    @Test(arguments: ["get", "explain"])
    func noErrorRepeatsAField(command: String) async throws {
        let start = [command, "https://a.example/", "--store", "s"]
        for (words, error) in [
            (["Authorization: Bearer sekrit"], "Unexpected argument number 2. Put a request field in quotes"),
            (["--header", "Authorization:", "Bearer", "sekrit"], "Unexpected arguments number 2, number 3. Put"),
            (["--header", "Authorization Bearer sekrit"], "'--header' number 1 has no colon. Write 'Name: value'."),
            (["--header", "A: b", "--header", "Bearer sekrit: x"], "'--header' number 2 has no valid field name"),
        ] {
            let outcome = try await Tool("holdfast").run(arguments: start + words)
            #expect(outcome.status == 64 && outcome.error.hasPrefix("Error: \(error)"), "\(outcome.error)")
            #expect(!outcome.error.contains("sekrit"), "\(outcome.error)")
        }
    }

    @Test(arguments: [
        (["cache-dump", "verify", "s", "extra"], "Unexpected argument 'extra'"),
        (["cache-dump", "verify", "s", "Cookie: sekrit"], "Unexpected argument number 2"),
        (["holdfast", "status", "--store", "s", "a", "b"], "Unexpected arguments 'a', 'b'"),
        (["holdfast", "serve", "a.yaml"], "Unexpected argument 'a.yaml'. Write '--config a.yaml'"),
        (["holdfast", "serve", "here"], "Unexpected argument 'here'"),
        (["holdfast", "serve", "Cookie: sekrit.yaml"], "Unexpected argument number 1"),
    ])
    func unexpectedArgumentsAreNamed(words: [String], error: String) async throws {
        let outcome = try await Tool(words[0]).run(arguments: Array(words.dropFirst()))
        #expect(outcome.status == 64 && !outcome.error.contains("sekrit"))
        #expect(outcome.error.hasPrefix("Error: \(error)\nUsage: "), "\(outcome.error)")
    }

    /// Errors in known options and missing ones are still reported.
    @Test(arguments: [
        (["holdfast", "serve"], "Name an origin with '--origin'"), (["holdfast", "get"], "Missing expected argument"),
        (["holdfast", "get", "a", "--store"], "Missing value for '--store <store>'"),
        (["holdfast", "get", "--", "--unknown"], "'--unknown'"), (["cache-dump", "list"], "Missing expected argument"),
        (["cache-dump", "list", "s", "--limit", "0"], "'--limit' must be 1 or more"),
        (["cache-dump", "list", "s", "--limit", "ten"], "'--limit <count>': It must be a whole number."),
        (["cache-dump", "show", "s", "k", "--entry", "1.5"], "'--entry <number>': It must be a whole number."),
        (["holdfast", "purge", "--all", "--refresh-at-most", "x"], "It must be a whole number."),
    ])
    func otherErrorsAreStillReported(words: [String], error: String) async throws {
        let outcome = try await Tool(words[0]).run(arguments: Array(words.dropFirst()))
        #expect(outcome.status == 64)
        #expect(outcome.error.contains(error) && !outcome.error.contains("Unknown option"), "\(outcome.error)")
    }

    @Test func helpIsStillShown() async throws {
        let outcome = try await Tool("holdfast").run("get", "--unknown", "--help")
        #expect(outcome.status == 0 && outcome.text.contains("USAGE: holdfast get"))
    }
}
