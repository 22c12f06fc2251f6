import ArgumentParser
import CommandLineSupport
import FleetTier
import Holdfast
import HoldfastFleet

/// `holdfast fleet forget NODE --config FILE`
struct FleetForget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Removes a node that is gone for good, so that purges stop waiting for it.",
        discussion: """
            A purge is complete once every node that reported in the last seven days has applied it. If a node never comes back, for example because its store is gone, purges wait seven days for it. \
            On the server of 'fleet.url', this command marks the node as ended: each row with this name or identity that has not reported for 10 s. 'holdfast fleet status' and 'holdfast fleet check' show names and identities. \
            If the node reports again, it counts again. Do not forget a node that is only cut off: it may serve purged responses.

            The exit status is 0 if a node was forgotten, 1 if none was or the server cannot be used, 64 if the command line is invalid.

            Examples:
              holdfast fleet forget gw-5 --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("Name or identity of the node.", valueName: "node"))
    var node: String

    @OptionGroup var options: FleetOptions

    /// The time limit for one call to the server.
    private static let callLimit = Duration.seconds(5)

    /// A forgotten node, as printed.
    private struct Report: Encodable {
        let node: String
        let identity: String
        let seenSeconds: Int64
    }

    func run() async throws {
        let fleet = try options.inspection()
        do {
            let reports = try await fleet.withLog { try await forget($0) }
            let lines = ReportLines(format: options.format)
            for report in reports {
                let words = "Forgot '\(report.node)', \(report.identity), seen \(report.seenSeconds) s ago."
                do { try lines.write(report, words.printable) } catch is StandardStream.Closed {}
            }
        } catch let error as FleetLogError {
            throw CommandFailure(error.words)
        } catch let failure as FleetInspection.Failure {
            throw CommandFailure("\(failure) 'holdfast fleet check' shows the next step.")
        }
    }

    private func forget(_ log: any FleetLog) async throws -> [Report] {
        let now = try await log.time(within: Self.callLimit)
        let rows = try await log.nodes(within: Self.callLimit).filter { row in
            !row.report.hasEnded && (row.report.name.text == node || "\(row.report.identity)" == node)
        }
        guard !rows.isEmpty else {
            throw CommandFailure(
                "No node has the name or identity '\(node)'. 'holdfast fleet status' lists the nodes."
            )
        }
        let silent = rows.filter { $0.secondsAgo(at: now) >= FleetReport.silentSeconds }
        guard !silent.isEmpty else {
            throw CommandFailure(
                "The node '\(node)' reported within the last \(FleetReport.silentSeconds) s. Stop it first."
            )
        }
        guard let epoch = try await log.epoch(within: Self.callLimit)?.number else {
            throw CommandFailure(
                "No node has started a log on this server. Start a node, then run this command again."
            )
        }
        for row in silent {
            var ended = row
            ended.report.hasEnded = true
            try await log.amend([NodeRowChange(ended, insteadOf: row)], in: epoch, within: Self.callLimit)
        }
        return silent.map { row in
            Report(
                node: row.report.name.text,
                identity: "\(row.report.identity)",
                seenSeconds: row.secondsAgo(at: now)
            )
        }
    }
}
