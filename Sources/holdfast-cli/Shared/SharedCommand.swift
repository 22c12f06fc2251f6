import ArgumentParser

/// `holdfast shared`
struct SharedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shared",
        abstract: "Examines the Redis or Valkey that several gateways share, and shows their log of purges.",
        discussion: """
            'check' examines the server before a fleet relies on it. 'status' shows the nodes, 'log' the purges, and 'audit' asks all nodes whether a purge has come to them. \
            'forget' ends the wait for a node that is gone. No other command except 'audit --purge' changes anything.
            """,
        subcommands: [
            SharedCheck.self, SharedStatus.self, SharedLogCommand.self, SharedAudit.self, SharedForget.self,
        ]
    )
}
