import ArgumentParser
import Holdfast
import HoldfastControl

/// `holdfast origins`
struct Origins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the origins of a running gateway.",
        discussion: """
            A line for each origin: its state, its requests under way and waiting, and for an unreachable one since when, and when the next probe is sent. \
            Unreachable origins come first. Behind an origin with settings of its own ('origins' of the configuration) its servers follow, one in a line, in the \
            order in which they are asked: an address or a URL, its responses and failures, and whether it is set aside because it failed.

            \(GatewayPlace.help)

            JSON: one object with the key origins, a list of objects with the keys origin, state, since, nextProbe, failedProbes, inFlight and waiting, \
            and servers (server, aside, responses, failures) if it has settings of its own; and the key more, true if there are more than 1,000.

            The exit status is 0 if the gateway responds, 1 if no gateway can be asked, 64 if the command line is wrong.

            Examples:
              holdfast origins --config holdfast.yaml
              holdfast origins --socket /run/holdfast/control.sock --format json | jq '.origins[] | select(.state != "reachable")'
            """
    )

    @OptionGroup var place: GatewayPlace

    func run() async throws {
        let report: OriginsReport = try await place.gateway().get("/v1/origins")
        try place.write(report, Self.text)
    }

    /// Lines for people.
    static func text(_ report: OriginsReport) -> String {
        var lines = report.origins.flatMap { origin in
            var line = "\(origin.state.rawValue.padding(to: 13))\(origin.origin)"
            line += "  \(origin.inFlight) under way, \(origin.waiting) waiting"
            if let since = origin.since { line += "; since \(since), \(origin.failedProbes) probes failed" }
            if let probe = origin.nextProbe { line += ", next one at \(probe)" }
            let servers = (origin.servers ?? []).map { server in
                "    \((server.aside ? "set aside" : "in use").padding(to: 10))\(server.server)"
                    + "  responses: \(server.responses), failures: \(server.failures)"
            }
            return [line] + servers
        }
        if report.more { lines.append("There are more.") }
        return lines.joined(separator: "\n")
    }
}
