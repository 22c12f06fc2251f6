import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastControl
import NIOHTTP1

/// `holdfast drain 10.0.0.7:443 --of-origin https://api.example --for 30m`
struct Drain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows the drained servers of a running gateway, or drains a server until a given time.",
        discussion: """
            Without an argument, prints the drained servers. A drained server gets no new requests; requests in progress finish. If all servers of an origin are drained, the origin's responses come from the store. \
            A drain needs an end, and survives a restart and a reload. '--end' ends it early. To keep requests away from a whole origin or a route, use 'holdfast mode offline --of-origin' or '--of-route'.

            \(TemporaryOptions.help)

            \(GatewayLocation.help)

            JSON: one object with the key drains, a list of objects with the keys origin, server, until, since, reason, by and noEffect.

            The exit status is 0 if the drains are in force, 1 if no gateway can be reached or it rejected the drain, 64 if the command line is invalid.

            Examples:
              holdfast drain --config holdfast.yaml
              holdfast drain 10.0.0.7:443 --of-origin https://api.example.com --for 30m --reason 'kernel update' --config holdfast.yaml
              holdfast drain 10.0.0.7:443 --of-origin https://api.example.com --end --config holdfast.yaml
            """
    )

    @Argument(help: ArgumentHelp("Server, as 'holdfast origins' shows it.", valueName: "server"))
    var server: String?

    @Option(name: .customLong("of-origin"), help: ArgumentHelp("Origin of the server.", valueName: "url"))
    var origin: String?

    @Flag(help: "End the server's drain.")
    var end = false

    @OptionGroup var temporary: TemporaryOptions

    @OptionGroup var location: GatewayLocation

    func validate() throws {
        if server == nil, origin != nil || end || temporary.isAnyNamed {
            throw ValidationError(
                "'--of-origin', '--end', '--until', '--for' and '--reason' need a server. 'holdfast origins' lists them."
            )
        }
        if server != nil, origin == nil {
            throw ValidationError("A server needs '--of-origin'. 'holdfast origins' lists origins and their servers.")
        }
        if end, temporary.isAnyNamed {
            throw ValidationError(
                "'--until', '--for' and '--reason' begin a drain, and '--end' ends it. Use one of them."
            )
        }
    }

    func run() async throws {
        let gateway = try location.gateway()
        let report: DrainsReport
        if let server, let origin, end {
            let before: DrainsReport = try await gateway.get("/v1/drains")
            let path = "/v1/drains?origin=\(Self.encoded(origin))&server=\(Self.encoded(server))"
            report = try await gateway.send(.DELETE, path, Optional<String>.none)
            if Self.count(of: server, in: before) == Self.count(of: server, in: report) {
                StandardStream.error.line("'\(server)' of '\(origin)' was not drained.")
            }
        } else if let server, let origin {
            let request = DrainRequest(
                server,
                of: origin,
                until: temporary.end,
                for: temporary.length,
                reason: temporary.reason
            )
            report = try await gateway.send(.PUT, "/v1/drains", request)
            try await Self.warn(about: server, of: gateway)
        } else {
            report = try await gateway.get("/v1/drains")
        }
        try location.write(report, Self.text)
    }

    /// Warns if an origin has no server left.
    private static func warn(about server: String, of gateway: ControlClient) async throws {
        let report: OriginsReport = try await gateway.get("/v1/origins")
        let without = report.origins.filter { origin in
            // A server's URL may be given without its scheme.
            let isNamed = origin.servers?.contains { $0.server == server || $0.server.hasSuffix("://\(server)") }
            return origin.reason == "drained" && isNamed == true
        }
        for origin in without {
            StandardStream.error.line(
                "warning: No server of '\(origin.origin)' is left: its responses come from the store, and other requests get 504."
            )
        }
    }

    /// Returns the number of origins of which a server is drained.
    private static func count(of server: String, in report: DrainsReport) -> Int {
        report.drains.count(where: { $0.server == server })
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    /// Returns one human-readable line per drained server.
    static func text(_ report: DrainsReport) -> String {
        if report.drains.isEmpty { return "No server is drained." }
        return report.drains.map { drain in
            "\(drain.server ?? "") of \(drain.origin ?? "") is drained until \(TemporaryOptions.shown(drain.until))."
                + (drain.reason.map { " Reason: \($0)." } ?? "")
                + (drain.noEffect.map { " The drain has no effect: \($0)." } ?? "")
        }.joined(separator: "\n")
    }
}
