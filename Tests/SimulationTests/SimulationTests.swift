import Foundation
import HoldfastTesting
import Testing

/// Random workloads, which a seed determines, judged by an independent oracle.
///
/// A failure prints its seed. Replay it with `HOLDFAST_SEED=<seed> SWIFT_DETERMINISTIC_HASHING=1
/// swift test --filter SimulationTests`; `HOLDFAST_SEEDS=<count>` runs more of them (`make simulate
/// SEEDS=<count>`); `HOLDFAST_TRACE=<file>` names a file for the actions of origins and callers in
/// the last failing run.
///
/// Each test runs in a separate process: the runtime's hook (see ``SerialThread``) belongs to the
/// whole process, and other tests must not interfere.
///
/// It can fail: the fixed seeds found each of these changes to the engine, unless the table states
/// otherwise.
///
/// | Change | Found by |
/// |---|---|
/// | the fencing number is not compared | an invalidated response is served |
/// | `standard` skips a required validation | stale without permission |
/// | `Vary` is ignored | another variant |
/// | an older fill replaces what a younger one stored | not found: no invariant covers it |
/// | a body that broke off is stored | bytes of another length; the store's bodies at the end |
/// | every request is in the common partition | another principal's response |
/// | a 304 is accepted with any validators | entity tag of one version on the body of another |
/// | `must-revalidate` does not forbid stale use | stale without permission |
/// | a failed fetch forgets a waiting call | a caller never ends |
/// | `no-store` is stored | the store's content; another call's response |
/// | an unsafe method invalidates nothing | success without invalidation |
/// | a stored response does not age | `Age` and `ttl` |
/// | mode `offline` does not bound the preference | a socket in mode `offline` |
/// | a body under way is joined at any age | a response that had started before |
/// | no call joins an in-flight fetch | a group that makes more than one request |
/// | a permit of an origin is not given back | found by an earlier version; not tried since |
/// | the wrong bytes of a stored part are opened | not found by the fixed seeds |
/// | a 304's private fields are kept | the store's content |
/// | an error replaces a success stored meanwhile | the store's commits |
/// | a guest's private response answers users | a guest's response |
/// | a mode outlasts its end | the mode after each pause |
/// | a reload leaves the rules of before | the mode of a call that begins after it |
/// | a body that is replaced before it is opened is a miss | seed 1484 of an earlier version |
@Suite struct SimulationTests {
    static let exchanges = 300

    /// The seeds of every run, unless the environment names others.
    static var seeds: [UInt64] {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["HOLDFAST_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        let first = environment["HOLDFAST_FIRST_SEED"].flatMap { UInt64($0) } ?? 1
        let count = environment["HOLDFAST_SEEDS"].flatMap { UInt64($0) } ?? 40
        return Array(first..<(first + max(1, count)))
    }

    @Test func everyInvariantHoldsForEverySeed() async {
        await #expect(processExitsWith: .success) { await Self.judgeEverySeed() }
    }

    private static func judgeEverySeed() async {
        var exchanges = 0
        var failed = 0
        let start = ContinuousClock.now
        for seed in seeds {
            let report = await Simulation.run(seed: seed, exchanges: Self.exchanges)
            exchanges += report.exchanges
            guard !report.violations.isEmpty else { continue }
            failed += 1
            Issue.record(
                """
                Seed \(seed): \(report.violations.count) violations. Replay: HOLDFAST_SEED=\(seed) SWIFT_DETERMINISTIC_HASHING=1 \
                swift test --filter SimulationTests
                \(report.violations.prefix(3).joined(separator: "\n"))
                """
            )
            if let path = ProcessInfo.processInfo.environment["HOLDFAST_TRACE"] {
                try? report.trace.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            }
            if failed >= 10 { break }
        }
        if ProcessInfo.processInfo.environment["HOLDFAST_SEEDS"] != nil {
            let seconds = Double((ContinuousClock.now - start).milliseconds) / 1000  // is printed
            print("\(exchanges) exchanges in \(seconds) s, \(Int(Double(exchanges) / max(seconds, 0.001))) a second")
        }
    }

    @Test func sameSeedGivesSameRun() async {
        await #expect(processExitsWith: .success) { await Self.compareTwoRuns() }
    }

    private static func compareTwoRuns() async {
        let first = await Simulation.run(seed: 7, exchanges: 100)
        let second = await Simulation.run(seed: 7, exchanges: 100)
        #expect(first.jobs == second.jobs)
        #expect(first.requests == second.requests)
        #expect(first.hits == second.hits)
    }

    /// A task that waits for its turn on an actor stays on this thread. The test repeats it,
    /// because the runtime's pool is not always quick enough to take the task.
    @Test func actorTasksStayOnTheThread() async {
        await #expect(processExitsWith: .success) { await Self.waitOnAnActor() }
    }

    private static func waitOnAnActor() async {
        let staysOnThread = try? await SerialThread.run(
            order: .first,
            generator: SeededRandom(seed: 1),
            limit: .seconds(600)  // a guard
        ) { _ in
            for _ in 0..<100 where await !Waiter().staysOnThread() { return false }
            return true
        }
        #expect(staysOnThread == true)
    }

    private actor Waiter {
        func staysOnThread() async -> Bool {
            await SerialThread.yield()
            return SerialThread.isCurrent
        }
    }

    /// The runs contain callers, requests, and hits.
    @Test func runsContainRequestsHitsAndFetches() async {
        await #expect(processExitsWith: .success) { await Self.countJudgedCalls() }
    }

    private static func countJudgedCalls() async {
        var (exchanges, requests, hits) = (0, 0, 0)
        for seed in UInt64(100)..<105 {
            let report = await Simulation.run(seed: seed, exchanges: 100)
            exchanges += report.exchanges
            requests += report.requests
            hits += report.hits
        }
        #expect(exchanges >= 400)
        #expect(requests > exchanges / 4)
        #expect(hits > exchanges / 10)
    }
}
