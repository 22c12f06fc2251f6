import ArgumentParser

/// `holdfast rules`
struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Shows and applies what a change of rules does to what is stored.",
        discussion: """
            Rules count when a response is read, so new ones are in force for what is stored as soon as a service uses them. Two things stay as they were: the key under which a \
            response is stored, so that one whose key would be another now is not found any more; and what the store's index says of its expiry, by which room is made. \
            'diff' counts both beforehand, 'apply' brings them up to date.
            """,
        subcommands: [RulesDiff.self, RulesApply.self]
    )
}
