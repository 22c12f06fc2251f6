package import FleetTier
package import HoldfastTesting

/// The contract of every `FleetLog`, as a test suite that returns its findings about an engine.
///
/// Each sentence of the protocol's documentation that can be observed from outside is a rule. Rules
/// about faults are checked if the engine supports the faults.
package struct FleetLogContract: Sendable {
    let makeEngine: @Sendable () async throws -> any FleetLogEngine
    let seed: UInt64
    let timeout: Duration

    /// - Parameters:
    ///   - seed: the seed of all random choices; print it.
    ///   - timeout: the time limit for one rule, and for each call.
    ///   - makeEngine: creates an empty engine for a single rule.
    package init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(600),
        makeEngine: @escaping @Sendable () async throws -> any FleetLogEngine
    ) {
        self.seed = seed
        self.timeout = timeout
        self.makeEngine = makeEngine
    }

    /// A rule, tested with its own engine.
    struct Rule: Sendable {
        var sentence: String
        var faults: Set<FleetLogFault>
        var check: @Sendable (FleetLogUnderTest) async throws -> Void

        init(
            _ sentence: String,
            with faults: Set<FleetLogFault> = [],
            _ check: @escaping @Sendable (FleetLogUnderTest) async throws -> Void
        ) {
            self.sentence = sentence
            self.faults = faults
            self.check = check
        }
    }

    private var allRules: [Rule] {
        Self.beginning + Self.appending + Self.following + Self.trimming + Self.confirming + Self.announcing
            + Self.losing + Self.stalling + Self.failingOver
    }

    /// The rules that ``run(where:)`` checks.
    package var rules: [String] { allRules.map(\.sentence) }

    /// Returns the rules whose check needs a fault.
    package func rules(needing fault: FleetLogFault) -> [String] {
        allRules.filter { $0.faults.contains(fault) }.map(\.sentence)
    }

    /// Checks the rules, each with its own engine.
    ///
    /// - Parameter isIncluded: whether to check a rule, given its sentence; includes all rules by
    ///   default.
    /// - Returns: the violations, and the number of rules checked.
    package func run(
        where isIncluded: (String) -> Bool = { _ in true }
    ) async -> (findings: [ContractFinding], tested: Int) {
        var found: [ContractFinding] = []
        var tested = 0
        for rule in allRules where isIncluded(rule.sentence) {
            let engine: any FleetLogEngine
            do {
                engine = try await makeEngine()
            } catch {
                found.append(ContractFinding(rule: rule.sentence, detail: "no engine: \(error)"))
                continue
            }
            if rule.faults.isSubset(of: engine.faults) {
                tested += 1
                found += await findings(of: rule.sentence, timeout: timeout) { findings in
                    try await rule.check(
                        FleetLogUnderTest(engine: engine, findings: findings, seed: seed, limit: timeout)
                    )
                }
            }
            await engine.end()
        }
        return (found, tested)
    }
}

/// An engine under test.
package protocol FleetLogEngine: Sendable {
    /// The faults that the engine supports.
    var faults: Set<FleetLogFault> { get }

    /// Connects another node to the current primary.
    func makeLog() async throws -> any FleetLog
    /// Lets time pass on the engine's clock, by any amount. It may do nothing if the clock runs on
    /// its own.
    func passTime() async
    /// Causes a fault. Nodes may find the engine unreachable for a while.
    func cause(_ fault: FleetLogFault) async throws
    /// Releases all resources.
    func end() async
}

/// A fault of an engine.
package enum FleetLogFault: Sendable, Hashable, CaseIterable {
    /// All data is removed.
    case flush
    /// The primary stops and restarts with its data.
    case restart
    /// The primary keeps its connections but stops replying.
    case stall
    /// Only the log is evicted.
    case evictLog
    /// The IDs of purges are evicted.
    case evictNames
    /// The replica receives no more data. An engine with this fault has one replica beforehand.
    case holdReplication
    /// The replica becomes the primary, and the old primary stops.
    case failOver
    /// The replica becomes the primary, and the old primary continues to serve the nodes that are
    /// connected to it.
    case split
}
