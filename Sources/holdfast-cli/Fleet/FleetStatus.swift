import ArgumentParser
import CommandLineSupport
import FleetTier
import Foundation
import Holdfast
import HoldfastControl
import HoldfastFleet
import LocalSockets

/// `holdfast fleet status`
struct FleetStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the nodes that share purges: which are behind, silent, or have unsent purges.",
        discussion: """
            Queries a running gateway through its control socket. If no gateway is running here, queries the server of 'fleet.url' in the file of '--config'. \
            The first line says whether all is well. A node is silent if it has not reported for 10 s; its row is removed after 7 days. Identities distinguish nodes with the same name.

            \(GatewayLocation.help)

            JSON: one object with the keys summary, source ('gateway' or 'server'), position and nodes. Each node has name, version, identity, seenSeconds, behind, waiting and unopened (the number of entries sealed with another secret). A gateway adds node, state, behind (the number of entries that it must still read while it catches up), contactSeconds, waiting, problem, epochs, gaps and unopened. \
            The server adds history: the epochs still in the log, each with epoch, name, beganAt and inherited (the position of the previous epoch's last entry). A key without a value is omitted. An epoch without 'inherited' began with a new or lost log.

            The exit status is 0 if the gateway or the server responds, 1 if neither does or nothing is shared, 64 if the command line is invalid.

            Examples:
              holdfast fleet status --config holdfast.yaml
              holdfast fleet status --socket /run/holdfast/control.sock --format json | jq '.nodes[] | select(.behind != 0)'
            """
    )

    @OptionGroup var location: GatewayLocation

    /// The time limit for one call to the server.
    private static let callLimit = Duration.seconds(5)

    func run() async throws {
        try location.write(try await report(), \.text)
    }

    private func report() async throws -> FleetReport {
        guard let gateway = try runningGateway() else { return try await serverReport() }
        let status: StatusReport = try await gateway.get("/v1/status")
        guard let fleet = status.fleet else {
            throw CommandFailure(
                "The gateway shares no purges: 'fleet.url' was not set when it started. Set 'fleet.url', and restart the gateway."
            )
        }
        return FleetReport(fleet)
    }

    /// Returns the running gateway, or `nil` if none is running and a file names the server.
    private func runningGateway() throws -> ControlClient? {
        if location.socket != nil || file == nil { return try location.gateway() }
        // The file may not set a store.
        guard let store = try? location.namedStore(warns: false) else { return nil }
        return ControlSocket.inStore(store.folder).reach == .nobody ? nil : try location.gateway()
    }

    private var file: String? {
        location.file
            ?? (location.store == nil && location.origin == nil
                ? ServeVariable.config.value(in: ProcessInfo.processInfo.environment) : nil)
    }

    private func serverReport() async throws -> FleetReport {
        guard let file else { throw ValidationError("No configuration file is set. Use '--config'.") }
        let fleet = try FleetOptions.inspection(ofFile: file, ProcessInfo.processInfo.environment)
        do {
            return try await fleet.withLog { log in
                let rows = try await log.nodes(within: Self.callLimit)
                let now = try await log.time(within: Self.callLimit)
                let end = try await log.bounds(within: Self.callLimit)?.last
                let epochs = try await log.epochs(most: FleetReport.mostEpochs, within: Self.callLimit)
                return FleetReport(rows: rows, at: now, end: end, epochs: epochs)
            }
        } catch let error as FleetLogError {
            throw CommandFailure(error.words)
        } catch let failure as FleetInspection.Failure {
            throw CommandFailure("\(failure) 'holdfast fleet check' shows the next step.")
        }
    }
}
