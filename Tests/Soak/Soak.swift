import Foundation
import Synchronization

/// An oracle-checked mixed load with faults, through the built gateway: `soak [SECONDS] [SEED]`.
///
/// It fails at the first response that must not be.
@main
struct Soak {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
        guard !CommandLine.arguments.contains("--help") else {
            writeLine(Options.usage)
            exit(0)
        }
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()), folder: folder)
            exit(try Soak(options).run() ? 0 : 1)
        } catch let wrong as Options.Wrong {
            FileHandle.standardError.write(Data("error: \(wrong.what).\n\n\(Options.usage)\n".utf8))
            exit(64)
        } catch {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            exit(1)
        }
    }

    private let options: Options
    private let world: World

    private init(_ options: Options) throws {
        self.options = options
        let recorder = options.record.isEmpty ? nil : try Recorder(file: options.record)
        world = World(seed: options.seed, recorder: recorder)
    }

    /// - Returns: whether there are no findings.
    private func run() throws -> Bool {
        var template = Array((NSTemporaryDirectory() + "/holdfast-soak.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw SocketFailure.broken("no temporary folder: \(Socket.reason)") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Separate, because the gateway treats an origin that closes connections as unreachable.
        let (honest, liars, quitters) = (Origin(world), Origin(world), Origin(world))
        for origin in [honest, liars, quitters] { try origin.start() }
        let gateway = GatewayProcess(world, binary: options.gateway, folder: folder)
        try gateway.configure(honest: honest.port, liars: liars.port, quitters: quitters.port)
        try gateway.start()
        var report = Report(options, started: Clock.now())
        let threads = start(gateway, honest)
        watch(&report, gateway, honest)
        world.end()
        // Clients end with their current exchange. After a finding, they need not.
        let areAllOver = threads.end(within: world.findings.isEmpty ? ClientConnection.patience + 15 : 1)
        if world.findings.isEmpty {
            finish(gateway.end(within: 30), areAllOver, gateway)
        } else {
            // The gateway is of no more use.
            try gateway.killAndWait()
        }
        for origin in [honest, liars, quitters] { origin.stop() }
        report.end(world.statistics.total, faults: counts.all, unexplained: world.unexplained)
        let findings = world.findings
        if !findings.isEmpty { report.findings(findings, log: gateway.lastWords) }
        return findings.isEmpty
    }

    private let counts = FaultCounts()

    private func start(_ gateway: GatewayProcess, _ origin: Origin) -> RunningThreads {
        let threads = RunningThreads()
        let habits = Part.allCases.filter { options.parts.contains($0) && !$0.isFault }
        for index in 0..<options.clients {
            threads.start { [options] in
                var client = Client(world, index: index, habits: habits, speaksHTTP2: options.speaksHTTP2(index))
                client.run()
            }
        }
        threads.start {
            var faults = Faults(world, gateway, origin, parts: options.parts, dump: options.dump)
            do {
                try faults.run()
            } catch {
                world.report(Finding(rule: .ended, expected: "faults that succeed", got: "\(error)"))
            }
            counts.set(faults.counts)
        }
        if options.parts.contains(.change) {
            threads.start { Faults.change(world) }
        }
        return threads
    }

    /// Prints a line every five seconds, until the time is over or something is found.
    private func watch(_ report: inout Report, _ gateway: GatewayProcess, _ origin: Origin) {
        let end = Clock.now() + options.seconds
        var last = Clock.now()
        while !world.isOver, Clock.now() < end {
            Clock.pause(0.1)
            let now = Clock.now()
            guard now - last >= 5 || now >= end else { continue }
            report.line(world.statistics.takeRecent(), over: now - last, gateway, origin)
            last = now
        }
        let counts = world.statistics.takeRecent()
        if counts.exchanges > 0 { report.line(counts, over: Clock.now() - last, gateway, origin) }
    }

    /// Checks the end: the gateway's exit status, its store, and that no client is stuck.
    private func finish(_ status: Int32?, _ areAllOver: Bool, _ gateway: GatewayProcess) {
        if status != 0 {
            let got = status.map { "status \($0)" } ?? "it had to be killed"
            world.report(Finding(rule: .ended, expected: "a gateway that ends on a signal, with status 0", got: got))
        }
        if !areAllOver {
            world.report(Finding(rule: .timeOut, expected: "clients that end", got: "some do not"))
        }
        let faults = Faults(world, gateway, Origin(world), parts: [], dump: options.dump)
        do {
            try faults.inspectStore(["verify", gateway.store, "--full"])
        } catch {
            world.report(Finding(rule: .store, expected: "a store that can be examined", got: "\(error)"))
        }
        // An untroubled origin that cannot be reached now and then is a busy machine; often, it is
        // a defect.
        let total = world.statistics.total.exchanges
        if world.unexplained > 20, world.unexplained * 100 > total {
            let got = "\(world.unexplained) of \(total) without a cause"
            world.report(Finding(rule: .unavailable, expected: "responses while the origin is reachable", got: got))
        }
    }
}

/// The threads that end with the run.
final class RunningThreads: Sendable {
    private let count = Mutex(0)

    func start(_ body: @escaping @Sendable () -> Void) {
        count.withLock { $0 += 1 }
        Thread.start {
            body()
            self.count.withLock { $0 -= 1 }
        }
    }

    /// - Returns: whether all have ended within this number of seconds.
    func end(within seconds: Double) -> Bool {
        let end = Clock.now() + seconds
        while count.withLock({ $0 > 0 }) {
            guard Clock.now() < end else { return false }
            Clock.pause(0.02)
        }
        return true
    }
}
