import Testing

/// If a command gets an unknown option, its error is about that, whatever else is missing or wrong.
@Suite("Unknown options", .timeLimit(.minutes(20)))
struct UnknownOptionTests {
    /// Every command of every tool that has required arguments, or checks them itself.
    static let commands = [
        "holdfast", "holdfast get", "holdfast serve", "holdfast explain", "holdfast check", "holdfast rules",
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
        #expect(outcome.error.hasPrefix("Error: Unknown option '--orgin'\n"), "\(outcome.error)")
    }

    /// Errors in known options and missing ones are still reported.
    @Test(arguments: [
        (["holdfast", "serve"], "Name an origin with '--origin'"), (["holdfast", "get"], "Missing expected argument"),
        (["holdfast", "get", "a", "--store"], "Missing value for '--store <store>'"),
        (["holdfast", "get", "--", "--unknown"], "'--unknown'"), (["cache-dump", "list"], "Missing expected argument"),
        (["cache-dump", "list", "s", "--limit", "0"], "'--limit' must be 1 or more"),
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
