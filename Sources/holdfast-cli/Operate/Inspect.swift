import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastControl
import Logging
import NIOHTTP1
import UnixSignals

/// `holdfast inspect`
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the address of a running gateway's status page, or opens the page.",
        discussion: """
            The address ends in '#' and a code, which works once, within a minute. The page exchanges the code for a token, which it keeps in memory for at most eight hours.

            The page is served on the gateway's port ('control.listen' in its file). Without that setting, the gateway has only a Unix socket, which browsers cannot reach. In that case, \
            this command listens on a free local port and relays to the socket until Ctrl-C.

            \(GatewayLocation.help)

            JSON: one object, with the keys url, code and expiresAt.

            The exit status is 0 if the page can be opened, 1 if no gateway can be reached, 64 if the command line is invalid.

            Examples:
              holdfast inspect --config holdfast.yaml
              holdfast inspect --socket /run/holdfast/control.sock --open
            """
    )

    @OptionGroup var location: GatewayLocation

    @Flag(help: "Open the page in the browser (xdg-open, or open on macOS).")
    var open = false

    @Option(
        help: ArgumentHelp(
            "Port to relay from if the gateway has none. Default: any free port.",
            valueName: "number"
        )
    )
    var port: Int?

    func validate() throws {
        guard (0...65535).contains(port ?? 0) else {
            throw ValidationError("'--port' must be a number from 0 to 65535.")
        }
    }

    func run() async throws {
        let gateway = try location.gateway()
        let report: InspectionReport = try await gateway.send(.POST, "/v1/inspections", [String: String]())
        if let url = report.url {
            guard port == nil else {
                throw CommandFailure(
                    "The gateway serves the page on its own port ('control.listen'), so '--port' has no effect. Omit '--port'."
                )
            }
            try location.write(report) { _ in url }
            if open { try BrowserPage.open(url) }
            return
        }
        // Handle signals before anyone can connect, so that they end it cleanly.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let (location, open) = (location, open)
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        let relay = ControlRelay(
            port: port ?? 0,
            client: "uid \(getuid())",
            to: WatchedGateway(gateway),
            logger: logger
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await relay.run { url in
                    var report = InspectionReport()
                    report.url = url
                    try? location.write(report) { _ in url }
                    StandardStream.error.line("holdfast relays to '\(gateway.name)' until Ctrl-C")
                    guard open else { return }
                    do {
                        try BrowserPage.open(url)
                    } catch {
                        StandardStream.error.line("\(error)")
                    }
                }
            }
            tasks.addTask { for await _ in signals { return } }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }
}
