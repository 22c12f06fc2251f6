import ArgumentParser

/// `holdfast rules`
struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Shows and applies the effect of changed rules on stored responses.",
        discussion: """
            Rules apply when a response is read, so new ones affect stored responses as soon as a service uses them. Two things stay as they were: the key under which a \
            response is stored, so that one whose key differs now is not found any more; and its expiry in the store's index, which orders eviction. \
            'diff' counts both beforehand, 'apply' updates them.
            """,
        subcommands: [RulesDiff.self, RulesApply.self]
    )
}
