import ArgumentParser

/// `holdfast rules`
struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Shows or applies the effect of new rules on stored responses.",
        discussion: """
            Rules apply when a response is read, so new rules affect stored responses as soon as a service uses them. Two things do not change by themselves: the key under which a \
            response is stored, so a response whose key changes is no longer found; and its expiry in the store's index, which orders eviction. \
            'diff' counts such responses in advance; 'apply' updates them.
            """,
        subcommands: [RulesDiff.self, RulesApply.self]
    )
}
