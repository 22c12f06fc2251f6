import ArgumentParser
import Holdfast
import HoldfastControl

/// `holdfast origins`
struct Origins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the origins of a running gateway.",
        discussion: """
            Prints a line for each origin: its state, and its requests in flight and waiting; for an unreachable origin also since when, and when the next probe is sent. \
            Unreachable origins come first. If an origin has settings of its own ('origins' in the configuration), its servers follow in the order in which they are tried, one per \
            line: address or URL, responses, failures, and whether the server is set aside after failures.

            \(GatewayLocation.help)

            JSON: one object with the key origins, a list of objects with the keys origin, state, since, nextProbe, failedProbes, inFlight and waiting, \
            and servers (server, aside, responses, failures) if the origin has settings of its own; and the key more, true if there are more than 1,000.

            The exit status is 0 if the gateway responds, 1 if no gateway can be reached, 64 if the command line is invalid.

            Examples:
              holdfast origins --config holdfast.yaml
              holdfast origins --socket /run/holdfast/control.sock --format json | jq '.origins[] | select(.state != "reachable")'
            """
    )

    @OptionGroup var location: GatewayLocation

    func run() async throws {
        let report: OriginsReport = try await location.gateway().get("/v1/origins")
        try location.write(report, Self.text)
    }

    /// Returns human-readable lines.
    static func text(_ report: OriginsReport) -> String {
        var lines = report.origins.flatMap { origin in
            var line = "\(origin.state.rawValue.padding(to: 13))\(origin.origin)"
            line += "  \(origin.inFlight) in flight, \(origin.waiting) waiting"
            if let since = origin.since { line += "; since \(since), \(origin.failedProbes) probes failed" }
            if let probe = origin.nextProbe { line += ", next probe at \(probe)" }
            let servers = (origin.servers ?? []).map { server in
                "    \((server.aside ? "set aside" : "in use").padding(to: 10))\(server.server)"
                    + "  responses: \(server.responses), failures: \(server.failures)"
            }
            return [line] + servers
        }
        if report.more { lines.append("More origins are not shown.") }
        return lines.joined(separator: "\n")
    }
}
