import ArgumentParser
import CommandLineSupport
import Holdfast
import SharedTier

/// `holdfast shared forget NODE --config FILE`
struct SharedForget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Ends the wait for a node that is gone for good.",
        discussion: """
            A purge is everywhere when all nodes of the last seven days have it. A node that will not come back, because its store is gone, is waited for as long. \
            This command ends its rows at the server of 'shared.url': those of the name, or of the identity that 'holdfast shared status' and 'holdfast shared check' show, that have not reported for 10 s. \
            A node that reports again is there again. Do not forget one that is only cut off: it may serve what was purged.

            The exit status is 0 if a node was forgotten, 1 if none was, or the server cannot be used, 64 if the command line is wrong.

            Examples:
              holdfast shared forget gw-5 --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("The node's name, or its identity.", valueName: "node"))
    var node: String

    @OptionGroup var options: FleetOptions

    /// For one call of the server.
    private static let callLimit = Duration.seconds(5)

    /// A row as it is written.
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
        } catch let error as SharedLogError {
            throw CommandFailure(error.words)
        } catch let failure as FleetInspection.Failure {
            throw CommandFailure(failure.description)
        }
    }

    private func forget(_ log: any SharedLog) async throws -> [Report] {
        let now = try await log.time(within: Self.callLimit)
        let rows = try await log.nodes(within: Self.callLimit).filter { row in
            !row.report.hasEnded && (row.report.name.text == node || "\(row.report.identity)" == node)
        }
        guard !rows.isEmpty else { throw CommandFailure("No node is named '\(node)'. See 'holdfast shared status'.") }
        let silent = rows.filter { $0.secondsAgo(at: now) >= FleetReport.silentSeconds }
        guard !silent.isEmpty else {
            throw CommandFailure(
                "The node '\(node)' reported within the last \(FleetReport.silentSeconds) s. Stop it first."
            )
        }
        guard let epoch = try await log.epoch(within: Self.callLimit)?.number else {
            throw CommandFailure("No node has begun the log at this server. Repeat the command when one follows it.")
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
