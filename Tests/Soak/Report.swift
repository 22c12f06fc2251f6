import Foundation

/// The lines that a run prints.
struct Report {
    let options: Options
    let started: Moment
    private(set) var peakMemory = 0
    private(set) var peakDescriptors = 0

    init(_ options: Options, started: Moment) {
        self.options = options
        self.started = started
        guard !options.isQuiet else { return }
        writeLine("soak: \(Int(options.seconds)) s, seed \(options.seed), \(options.clients) clients")
        let names = "time req/s hits stale failed ended p50/ms p99/ms MiB files origin"
        writeLine(Self.row(names.split(separator: " ").map(String.init)))
    }

    private static func row(_ cells: [String]) -> String {
        cells.map { String(repeating: " ", count: max(1, 8 - $0.count)) + $0 }.joined()
    }

    /// A line about the last while.
    mutating func line(_ counts: Statistics.Counts, over seconds: Double, _ gateway: GatewayProcess, _ origin: Origin) {
        let (memory, descriptors) = (gateway.memory / 1_024, gateway.descriptors)
        peakMemory = max(peakMemory, memory)
        peakDescriptors = max(peakDescriptors, descriptors)
        guard !options.isQuiet else { return }
        let numbers = [
            Int(Clock.now() - started), Int(Double(counts.exchanges) / max(seconds, 0.001)), counts.hits, counts.stale,
            counts.failures, counts.ended, counts.latency(0.5), counts.latency(0.99), memory, descriptors,
            origin.connections,
        ]
        writeLine(Self.row(numbers.map { "\($0)" }))
    }

    func end(_ total: Statistics.Counts, faults: [Part: Int], unexplained: Int) {
        let seconds = Clock.now() - started
        if !options.isQuiet {
            let habits = total.habits.sorted { $0.key.rawValue < $1.key.rawValue }
            writeLine("habits: " + habits.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", "))
            let faults = faults.sorted { $0.key.rawValue < $1.key.rawValue }
            writeLine("faults: " + faults.map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", "))
            writeLine(
                "interim responses \(total.interim), over HTTP/2 \(total.http2), unexplained failures \(unexplained)"
            )
        }
        writeLine(
            "soak: \(total.exchanges) exchanges in \(Int(seconds)) s (\(Int(Double(total.exchanges) / seconds)) a second), "
                + "p99 \(total.latency(0.99)) ms, at most \(peakMemory) MiB and \(peakDescriptors) descriptors, "
                + "seed \(options.seed)"
        )
    }

    /// Prints the findings, and the commands that show them again.
    func findings(_ findings: [Finding], log: String) {
        for finding in findings.prefix(3) {
            writeLine("")
            for line in finding.lines { writeLine(line) }
        }
        var command = "make soak SECONDS=\(Int(options.seconds)) SEED=\(options.seed)"
        let (taken, left) = (options.parts, Part.allCases.filter { !options.parts.contains($0) })
        if taken.count < left.count {
            command += " ONLY=" + Part.allCases.filter(taken.contains).map(\.rawValue).joined(separator: ",")
        } else if !left.isEmpty {
            command += " WITHOUT=" + left.map(\.rawValue).joined(separator: ",")
        }
        if options.http2 != Options.usualHTTP2 { command += " OPTIONS='--http2 \(options.http2)'" }
        writeLine("\nAgain: \(command)")
        if let habit = findings.compactMap({ $0.exchange?.request.habit }).first {
            writeLine("Alone: make soak SECONDS=60 SEED=\(options.seed) ONLY=\(habit.rawValue)")
        }
        if !log.isEmpty { writeLine("The gateway's log ends:\n\(log)") }
    }
}

/// Writes a line at once, without a buffer, so that a run can be watched.
func writeLine(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
