import ArgumentParser
import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastControl

/// `holdfast status`
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the state of a running gateway.",
        discussion: """
            The first line says whether the gateway serves, which origins are unreachable, and what else is wrong. The following lines show mode, store, \
            configuration and version.

            \(GatewayLocation.help)

            JSON: one object, with the keys summary, version, startedAt, uptimeSeconds, phase, listening, listeningTLS, mode, staleness, origins, unreachable, storeCondition, store, invalidationSequence, \
            fleet and configuration.

            The exit status is 0 if the gateway responds, 1 if no gateway can be reached, 64 if the command line is invalid.

            Examples:
              holdfast status --config holdfast.yaml
              holdfast status --socket /run/holdfast/control.sock --format json | jq -r .summary
            """
    )

    @OptionGroup var location: GatewayLocation

    func run() async throws {
        let report: StatusReport = try await location.gateway().get("/v1/status")
        try location.write(report, Self.text)
    }

    /// Returns lines about the nodes that share their purges.
    static func fleet(_ fleet: FleetState?) -> [String] {
        guard let fleet else { return [] }
        let own = FleetWords.own(
            state: fleet.state,
            position: fleet.position,
            behind: fleet.behind,
            contact: fleet.contactSeconds,
            waiting: fleet.waiting,
            problem: fleet.problem
        )
        return ["  fleet          \(fleet.node) \(own)"]
            + (fleet.nodes ?? []).map { "  node           \($0.name), \(FleetWords.other($0))" }
    }

    /// Returns human-readable lines.
    static func text(_ report: StatusReport) -> String {
        var lines = [report.summary]
        for origin in report.unreachable {
            lines.append("  unreachable    \(origin.origin)\(origin.since.map { " since \($0)" } ?? "")")
        }
        lines.append("  mode           \(Mode.words(report.mode))")
        lines += (report.mode.switches ?? []).map { "  mode           \(Mode.words($0))" }
        if report.staleness.until != nil { lines.append("  staleness      \(Staleness.text(report.staleness))") }
        if let store = report.store {
            let responses = "\(store.responses) \(store.responses == 1 ? "response" : "responses")"
            let kinds = "\(responses), \(store.pinned) pinned, \(store.damaged) damaged"
            lines.append(
                "  store          \(ByteSize.text(store.usedBytes)) of \(ByteSize.text(store.budget)); \(kinds)"
            )
        }
        lines += (report.store?.setAside ?? []).map { "  set aside      \($0), damaged; see 'cache-dump recover'" }
        lines.append("  invalidation   \(report.invalidationSequence)")
        lines += Self.fleet(report.fleet)
        let file = report.configuration.file ?? "no file"
        lines.append("  configuration  \(file), in force since \(report.configuration.loadedAt)")
        if let reload = report.configuration.lastReload {
            lines.append("  last reload    \(reload.outcome.rawValue) at \(reload.at) by \(reload.by)")
            lines += reload.kept.map { "  needs restart  \($0.setting): \($0.from ?? "unset") -> \($0.to ?? "unset")" }
        }
        lines += (report.configuration.rejectedFiles ?? []).map { "  rejected file  \($0)" }
        lines += (report.configuration.warnings ?? []).map { "  warning        \($0)" }
        lines.append("  version        \(report.version), up since \(report.startedAt)")
        return lines.joined(separator: "\n")
    }
}
