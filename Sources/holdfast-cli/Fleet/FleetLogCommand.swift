import ArgumentParser
import CommandLineSupport
import FleetTier
import HTTPCache
import Holdfast
import HoldfastFleet

/// `holdfast fleet log --config FILE`
struct FleetLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows the purge log that several gateways share.",
        discussion: """
            Prints a line for each entry, oldest first: its position, when the server added it (by the server's clock), the node that wrote it to the log, 'expire' or 'remove', and what it covers. \
            Values of secret parameters are redacted. An epoch line means that another server began to serve the log, and shows how much of the log that server inherited.

            With '--follow', the command keeps running, even while the server cannot be reached.

            JSON: an object for each entry, with the keys position, addedAt, entry ('purge', 'epoch' or 'unreadable'), node, action, scope, selector, epoch and inherited. A missing value is null.

            The exit status is 0; 1 if the server cannot be used; 64 if the command line is invalid.

            Examples:
              holdfast fleet log --config holdfast.yaml --limit 20
              holdfast fleet log --config holdfast.yaml --follow --format json | jq -r 'select(.entry == "purge") | .selector'
            """
    )

    @OptionGroup var options: FleetOptions

    @Option(help: ArgumentHelp("Maximum number of entries; the newest are printed. Up to 100000.", valueName: "count"))
    var limit = 100

    @Flag(help: "Keep printing entries as they arrive.")
    var follow = false

    /// The time limit for one call to the server.
    private static let callLimit = Duration.seconds(5)
    private static let beat = Duration.seconds(1)
    private static let pause = Duration.milliseconds(500)

    func validate() throws {
        guard (0...100_000).contains(limit) else {
            throw ValidationError("'--limit' must be a number from 0 to 100000, not '\(limit)'.")
        }
    }

    func run() async throws {
        let fleet = try options.inspection()
        do {
            try await fleet.withLog { try await show($0, of: fleet) }
        } catch is StandardStream.Closed {
        } catch let error as FleetLogError {
            throw CommandFailure(error.words)
        } catch let failure as FleetInspection.Failure {
            throw CommandFailure("\(failure) 'holdfast fleet check' shows the next step.")
        }
    }

    private func show(_ log: any FleetLog, of fleet: FleetInspection) async throws {
        let lines = ReportLines(format: options.format)
        let bounds = try await log.bounds(within: Self.callLimit)
        var cursor = try await log.position(before: limit, within: Self.callLimit) ?? .zero
        if limit == 0, let last = bounds?.last { cursor = last }
        if let last = bounds?.last {
            while cursor < last {
                let batch = try await log.follow(
                    after: cursor,
                    count: LogBatch.mostEntries,
                    wait: .zero,
                    within: Self.callLimit
                )
                guard let end = batch.entries.last?.position else { break }
                for entry in batch.entries { try write(entry, fleet, lines) }
                cursor = end
            }
        } else if !follow {
            StandardStream.error.line("The log in the namespace '\(fleet.namespace)' is empty or missing.")
        }
        guard follow else { return }
        try await wait(log, after: cursor, of: fleet, lines)
    }

    /// Writes new entries until an error occurs that waiting cannot fix.
    private func wait(
        _ log: any FleetLog,
        after start: LogPosition,
        of fleet: FleetInspection,
        _ lines: ReportLines
    ) async throws {
        var cursor = start
        var isAway = false
        while true {
            switch await Self.next(log, after: cursor) {
            case .success(let entries):
                isAway = false
                for entry in entries { try write(entry, fleet, lines) }
                cursor = entries.last?.position ?? cursor
            case .failure(let error):
                guard error == .unreachable || error == .timedOut else { throw error }
                if !isAway { StandardStream.error.line("\(error.words) Retrying.") }
                isAway = true
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    private static func next(
        _ log: any FleetLog,
        after cursor: LogPosition
    ) async -> Result<[LogEntry], FleetLogError> {
        do throws(FleetLogError) {
            let most = LogBatch.mostEntries
            return .success(try await log.follow(after: cursor, count: most, wait: beat, within: callLimit).entries)
        } catch {
            return .failure(error)
        }
    }

    private func write(_ entry: LogEntry, _ fleet: FleetInspection, _ lines: ReportLines) throws {
        let report = LogEntryReport(entry, open: { try? fleet.open($0) })
        try lines.write(report, report.text)
    }
}
