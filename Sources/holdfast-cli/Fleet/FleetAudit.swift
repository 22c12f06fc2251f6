import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastControl
import NIOCore

/// `holdfast fleet audit URL… --control SOCKET --control SOCKET`
struct FleetAudit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Checks all nodes for purged responses that are still fresh.",
        discussion: """
            Asks the control plane of each node, after 1, 10 and 60 s, for fresh responses that the purge covers and that were received from the origin before the purge. \
            There must be none. Each node looks for URLs and prefixes as a purge does: by its own routes and rules. With '--purge', the command makes the purge itself, at the first node. Otherwise, set the time of the purge with '--since', unless you made the purge just now. \
            Responses that were fetched or validated after the purge may be fresh. The command measures the difference to each node's clock. For responses of principals, and beyond 200 responses at one node, it compares the time when the response was stored.

            Name a node by its control socket ('--control'), or by the address of its control plane ('--node'; 'control.listen' in its configuration) and a file with a token of scope 'operate' ('--token-file').

            JSON: an object for each node and time, with the keys seconds, node, clean, fresh (the number of such responses), first (the URL of one of them) and problem. A missing value is null.

            The exit status is 0 if all nodes were clean at the last check; 1 if a node was not, or did not respond; 64 if the command line is invalid.

            Examples:
              holdfast fleet audit --tag news --purge --control /run/gw-1/control.sock --control /run/gw-2/control.sock
              holdfast fleet audit https://api.example.com/feed --since -5m --node 10.0.0.1:9800 --node 10.0.0.2:9800 --token-file audit.token --at 0
            """
    )

    @OptionGroup var selectors: SelectorOptions

    @Option(help: ArgumentHelp("Control socket of a node. Repeatable.", valueName: "path"))
    var control: [String] = []

    @Option(help: ArgumentHelp("Address of a node's control plane. Repeatable.", valueName: "host:port"))
    var node: [String] = []

    @Option(
        name: .customLong("token-file"),
        help: ArgumentHelp("File with the token for the nodes of '--node'.", valueName: "file")
    )
    var tokenFile: String?

    @Option(help: ArgumentHelp("When to check, in seconds after the start.", valueName: "seconds,…"))
    var at = "1,10,60"

    @Flag(help: "Make the purge, at the first node.")
    var purge = false

    @Option(
        parsing: .unconditional,
        help: "Time of the purge: ISO 8601, or relative (-5m). Default: the start of the command."
    )
    var since: Instant?

    @Option(help: "Output format; json prints one JSON object per line.")
    var format = GatewayLocation.Format.text

    /// The time limit for all requests to a node in one round.
    private static let nodeLimit = TimeAmount.seconds(10)

    /// The times, in order; `nil` if they are invalid.
    private var times: [Int]? {
        let times = at.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard times.allSatisfy({ $0.map((0...86_400).contains) ?? false }) else { return nil }
        return times.compactMap { $0 }.sorted()
    }

    func validate() throws {
        guard !control.isEmpty || !node.isEmpty else {
            throw ValidationError("No node is set. Use '--control' or '--node'.")
        }
        if let wrong = node.first(where: { !Self.isAddress($0) }) {
            throw ValidationError("'--node' must be a host and a port, such as 10.0.0.1:9800, not '\(wrong)'.")
        }
        guard node.isEmpty == (tokenFile == nil) else {
            throw ValidationError(
                node.isEmpty
                    ? "'--token-file' has no effect without '--node'."
                    : "'--node' needs '--token-file', with a token of scope 'operate'."
            )
        }
        guard times != nil else {
            throw ValidationError("'--at' must be whole seconds from 0 to 86400, such as 1,10,60, not '\(at)'.")
        }
        if purge, since != nil { throw ValidationError("'--since' has no effect with '--purge'. Omit one of them.") }
        if selectors.reason != nil, !purge { throw ValidationError("'--reason' needs '--purge'.") }
    }

    func run() async throws {
        let token = try tokenFile.map(Self.token)
        let nodes =
            try control.map { ControlClient(socket: try Self.socket(at: $0), timeLimit: Self.nodeLimit) }
            + node.map { ControlClient(address: $0, token: token, timeLimit: Self.nodeLimit) }
        let clock = ContinuousClock()
        let instant = since?.timestamp(now: SystemWallClock().now()) ?? SystemWallClock().now()
        if purge, let first = nodes.first {
            let request = PurgeRequest(selectors.selection, reason: selectors.reason ?? "fleet audit")
            StandardStream.error.line(Purge.text(try await first.purge(request)))
        }
        let start = clock.now
        let lines = ReportLines(format: format)
        var isClean = true
        for time in times ?? [] {
            try await clock.sleep(until: start + .seconds(time))
            isClean = true
            for report in await Self.ask(nodes, selectors.selection, since: instant, seconds: time) {
                if report.clean != true { isClean = false }
                do { try lines.write(report, report.text) } catch is StandardStream.Closed {}
            }
        }
        if !isClean { throw ExitCode.failure }
    }

    /// Returns whether a text is a URL, or a host with a port.
    private static func isAddress(_ text: String) -> Bool {
        text.contains("://") || URL(string: "http://\(text)")?.port != nil
    }

    /// Returns the socket at a path. A wrong path fails now, not after the last round.
    private static func socket(at path: String) throws -> ControlSocket {
        let inStore = ControlSocket.inStore(path).path
        return try GatewayLocation.socket(at: path, of: "--control", forStore: "name its socket: '\(inStore)'")
    }

    private static func ask(
        _ nodes: [ControlClient],
        _ selection: PurgeRequest.Selection,
        since instant: Timestamp,
        seconds: Int
    ) async -> [AuditReport] {
        await withTaskGroup(of: (Int, AuditReport).self) { group in
            for (number, node) in nodes.enumerated() {
                group.addTask {
                    let audited = AuditedNode(client: node, selection: selection, since: instant)
                    return (number, await audited.report(seconds: seconds))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func token(_ path: String) throws -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure("The token file '\(path)' cannot be read. Check its path and permissions.")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
