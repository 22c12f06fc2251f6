import Foundation
import Synchronization

/// Kills and stops the gateway and the honest origin while clients continue.
struct Faults {
    let world: World
    let gateway: GatewayProcess
    let origin: Origin
    let parts: Set<Part>
    let dump: String
    private var random: SeededGenerator
    private(set) var counts: [Part: Int] = [:]

    init(_ world: World, _ gateway: GatewayProcess, _ origin: Origin, parts: Set<Part>, dump: String) {
        self.world = world
        self.gateway = gateway
        self.origin = origin
        self.parts = parts
        self.dump = dump
        random = SeededGenerator(seed: world.seed, parts: 0xFA17)
    }

    /// Resources change by themselves, all the time.
    static func change(_ world: World) {
        var random = SeededGenerator(seed: world.seed, parts: 0xC4A6)
        while !world.isOver {
            let kind = random.pick([Resource.Kind.page, .page, .tongue, .mine, .gone, .flaky])
            if let resource = Resource("/\(kind.rawValue)/\(random.number(0...23))") { world.change(resource) }
            Clock.pause(Double(random.number(10...120)) / 1_000)
        }
    }

    /// One fault after the other until the run is over.
    mutating func run() throws {
        // A kill destroys the evidence of the other faults, so the others come first, and more
        // often.
        var choices: [Part] = []
        for part in [Part.outage, .outage, .outage, .reload, .pause, .dump, .kill] where parts.contains(part) {
            choices.append(part)
        }
        guard !choices.isEmpty else { return }
        while !world.isOver {
            wait(Double(random.number(500...2_500)) / 1_000)
            guard !world.isOver else { return }
            let part = random.pick(choices)
            counts[part, default: 0] += 1
            switch part {
            case .outage: try stopOrigin()
            case .reload: gateway.signal(SIGHUP)
            case .pause: pauseGateway()
            case .kill: try killAndStart()
            case .dump: try inspectStore(["list", gateway.store, "--format", "json"])
            default: break
            }
        }
    }

    private func wait(_ seconds: Double) {
        let end = Clock.now() + seconds
        while Clock.now() < end, !world.isOver { Clock.pause(0.05) }
    }

    private mutating func stopOrigin() throws {
        let started = Clock.now()
        world.tell { $0.troubleBegins(.origin, at: started) }
        origin.stop()
        wait(Double(random.number(200...1_500)) / 1_000)
        // The run needs an origin until its end.
        try origin.start()
        let ended = Clock.now()
        world.tell { $0.troubleEnds(.origin, at: ended) }
    }

    private mutating func pauseGateway() {
        let started = Clock.now()
        world.tell { $0.troubleBegins(.gateway, at: started) }
        gateway.signal(SIGSTOP)
        wait(Double(random.number(100...800)) / 1_000)
        gateway.signal(SIGCONT)
        let ended = Clock.now()
        world.tell { $0.troubleEnds(.gateway, at: ended) }
    }

    private func killAndStart() throws {
        let started = Clock.now()
        world.tell { $0.troubleBegins(.gateway, at: started) }
        try gateway.killAndWait()
        try gateway.start()
        let ended = Clock.now()
        world.tell { $0.troubleEnds(.gateway, at: ended) }
    }

    /// Reads the store beside the gateway with a tool, which must find no damage.
    func inspectStore(_ arguments: [String]) throws {
        let sink = open("/dev/null", O_WRONLY)
        defer { close(sink) }
        let log = gateway.folder + "/dump.log"
        let child = try ChildProcess.spawn(dump, arguments, output: sink, errorsTo: log)
        let status = ChildProcess.wait(for: child)
        guard status != 0 else { return }
        let words = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        let command = "cache-dump \(arguments.joined(separator: " "))"
        let got = "status \(status): \(words.suffix(500))"
        world.report(Finding(rule: .store, expected: "'\(command)' succeeds", got: got))
    }
}

/// The number of times that each fault was made.
final class FaultCounts: Sendable {
    private let counts = Mutex<[Part: Int]>([:])

    var all: [Part: Int] { counts.withLock { $0 } }

    func set(_ counts: [Part: Int]) { self.counts.withLock { $0 = counts } }
}
