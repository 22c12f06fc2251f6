import ArgumentParser

/// `holdfast fleet`
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Examines the Redis or Valkey server that several gateways share, and shows nodes and purges.",
        discussion: """
            'check' examines the server before a fleet depends on it. 'status' shows the nodes, 'log' shows the purges, and 'audit' checks whether a purge has reached all nodes. \
            'forget' removes a node that is gone, so that purges stop waiting for it. Only 'forget' and 'audit --purge' change anything.
            """,
        subcommands: [
            FleetCheck.self, FleetStatus.self, FleetLogCommand.self, FleetAudit.self, FleetForget.self,
        ]
    )
}
