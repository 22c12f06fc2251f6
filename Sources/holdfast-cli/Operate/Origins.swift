import ArgumentParser
import Holdfast
import HoldfastControl

/// `holdfast origins`
struct Origins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the origins of a running gateway.",
        discussion: """
            Prints a line for each origin: its state ('drained' if all of its servers are), and its requests in flight and waiting; for an unreachable origin also since when it is unreachable, why, and when the next probe is sent. For a reachable origin, the line also shows the last failure and its time, because a single URL may be the cause. \
            An origin is 'unresolved' if only a client of the forward proxy named it and its name does not resolve; this is not an outage. Unreachable origins come first. If an origin has settings of its own ('origins' in the configuration), its servers follow in the order in which they are tried, one per \
            line: address or URL, responses, failures, and whether the server is set aside after failures, failing like the whole origin, or drained until a given time ('holdfast drain'). A line with the reason and the next step follows a server that fails.

            \(GatewayLocation.help)

            JSON: one object with the key origins, a list of objects with the keys origin, state, since, reason, message, lastFailure (reason, message, at), nextProbe, failedProbes, inFlight and waiting, \
            and servers (server, aside, responses, failures, reason, message, drained) if the origin has settings of its own; and the key more, true if there are more than 1,000.

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
            var line = "\(state(of: origin).padding(to: 13))\(origin.origin)"
            line += "  \(origin.inFlight) in flight, \(origin.waiting) waiting"
            if let since = origin.since {
                let probes = origin.failedProbes == 1 ? "probe" : "probes"
                line += "; since \(since), \(origin.failedProbes) \(probes) failed"
            }
            if let probe = origin.nextProbe { line += ", next probe at \(probe)" }
            let servers = (origin.servers ?? []).flatMap { server -> [String] in
                // The only server of an origin has the origin's cause.
                let isKnown = server.message == origin.message || server.message == origin.lastFailure?.message
                return [
                    "    \(state(of: server, in: origin).padding(to: 10))\(server.server)"
                        + "  responses: \(server.responses), failures: \(server.failures)\(end(of: server.drained))"
                ] + (isKnown ? [] : cause(server.reason, server.message))
            }
            return [line] + cause(of: origin) + servers
        }
        if report.more { lines.append("More origins are not shown.") }
        return lines.joined(separator: "\n")
    }

    /// Returns the origin's state, or `drained` if no server gets requests.
    private static func state(of origin: OriginsReport.Origin) -> String {
        let servers = origin.servers ?? []
        return !servers.isEmpty && servers.allSatisfy { $0.drained != nil } ? "drained" : origin.state.rawValue
    }

    /// Returns the server's state. The only server of an origin is never set aside, because no
    /// other server can take its requests.
    private static func state(of server: OriginsReport.Server, in origin: OriginsReport.Origin) -> String {
        if server.drained != nil { return "drained" }
        if server.aside { return "set aside" }
        return origin.state == .unreachable && server.reason != nil ? "failing" : "in use"
    }

    private static func end(of drain: SwitchReport?) -> String {
        guard let drain else { return "" }
        return "; until \(TemporaryOptions.shown(drain.until))" + (drain.reason.map { ". Reason: \($0)." } ?? "")
    }

    private static func cause(of origin: OriginsReport.Origin) -> [String] {
        guard origin.state == .reachable, origin.reason != "drained", let last = origin.lastFailure else {
            return cause(origin.reason, origin.message)
        }
        return ["        last failure at \(last.at): \(last.reason): \(last.message)"]
    }

    private static func cause(_ reason: String?, _ message: String?) -> [String] {
        guard let reason, let message else { return [] }
        return ["        \(reason): \(message)"]
    }
}
