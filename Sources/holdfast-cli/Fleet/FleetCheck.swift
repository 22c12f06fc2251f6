import ArgumentParser
import CommandLineSupport
import FleetTier
import HoldfastFleet

/// `holdfast fleet check --config FILE`
struct FleetCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Examines the Redis or Valkey server of 'fleet', and suggests fixes.",
        discussion: """
            Connects to the server of 'fleet.url' and prints a line for each finding: 'ok', 'warning' (the fleet works, but with weaker guarantees than possible) or 'error' (it does not work). \
            Checks the version, topology, encryption, memory and its policy, persistence, replicas against 'fleet.quorum', the user's rights, \
            the clock, 200 pings against 'fleet.timeout', the log, how far back it reaches against 'fleet.longest', whether 'fleet.secret' opens it, and the nodes: those with the same name, and those with another secret. \
            In a cluster, all primaries that are used are checked.

            To find the user's rights, the command tries each Redis command on a key of its own within the namespace. It removes the key at the end; if that fails, the key expires after 10 s. \
            Nothing else is written. The time limit is 5 s for each reply and 20 s for each server.

            JSON: an object for each finding, with the keys level, subject, server, message and next. A missing value is null.

            The exit status is 0 if there is no error, even with warnings; 1 if there is an error, or the file is invalid; 64 if the command line is invalid.

            Examples:
              holdfast fleet check --config holdfast.yaml
              holdfast fleet check --config holdfast.yaml --format json | jq -r 'select(.level != "ok") | .next'
            """
    )

    @OptionGroup var options: FleetOptions

    /// A finding, as printed.
    private struct Report: Encodable {
        let finding: EngineFinding

        private enum CodingKeys: String, CodingKey {
            case level, subject, server, message, next
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(finding.level.rawValue, forKey: .level)
            try container.encode(finding.subject, forKey: .subject)
            try container.encode(finding.server, forKey: .server)
            try container.encode(finding.message, forKey: .message)
            try container.encode(finding.remedy, forKey: .next)
        }
    }

    func run() async throws {
        let findings = try await options.inspection().check()
        let servers = Set(findings.compactMap(\.server)).count
        let lines = ReportLines(format: options.format)
        do {
            for finding in findings { try lines.write(Report(finding: finding), Self.text(finding, servers)) }
        } catch is StandardStream.Closed {}
        if findings.contains(where: { $0.level == .error }) { throw ExitCode.failure }
    }

    private static func text(_ finding: EngineFinding, _ servers: Int) -> String {
        let place = servers > 1 ? finding.server.map { "[\($0)] " } ?? "" : ""
        let next = finding.remedy.map { " Next: \($0)" } ?? ""
        return finding.level.rawValue.padded(9)
            + (finding.subject.padded(13) + place + finding.message + next).printable
    }
}
