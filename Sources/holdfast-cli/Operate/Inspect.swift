import ArgumentParser
import CommandLineSupport
import Foundation
import Holdfast
import HoldfastControl
import NIOHTTP1
import UnixSignals

/// `holdfast inspect`
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a running gateway to people: prints the address of its page, or opens it.",
        discussion: """
            The address has a code behind '#', which works once and for a minute. The page exchanges it for a token, which it keeps in memory for eight hours at most.

            The page is on the gateway's port ('control.listen' in its file). A gateway without one has a Unix socket alone, which no browser reaches. Then this command \
            listens on a free port of this machine and relays to the socket, until Ctrl-C.

            \(GatewayPlace.help)

            JSON: one object, with the keys url, code and expiresAt.

            The exit status is 0 if the page can be opened, 1 if no gateway can be asked, 64 if the command line is wrong.

            Examples:
              holdfast inspect --config holdfast.yaml
              holdfast inspect --socket /run/holdfast/control.sock --open
            """
    )

    @OptionGroup var place: GatewayPlace

    @Flag(help: "Opens the page in the browser: with xdg-open, or on macOS with open.")
    var open = false

    @Option(
        help: ArgumentHelp(
            "The port to relay from, if the gateway has none. The default is any free one.",
            valueName: "number"
        )
    )
    var port = 0

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("'--port' takes a number from 0 to 65535.") }
    }

    func run() async throws {
        let gateway = try place.gateway()
        let report: InspectionReport = try await gateway.send(.POST, "/v1/inspections", [String: String]())
        if let url = report.url {
            try place.write(report) { _ in url }
            if open { try BrowserPage.open(url) }
            return
        }
        // Before anyone can connect: a signal ends it in order.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let (place, open) = (place, open)
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        let relay = ControlRelay(
            port: port,
            client: "uid \(getuid())",
            to: gateway,
            logger: logger
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await relay.run { url in
                    var report = InspectionReport()
                    report.url = url
                    try? place.write(report) { _ in url }
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
