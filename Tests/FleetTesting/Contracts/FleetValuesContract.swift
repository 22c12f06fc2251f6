package import FleetTier
package import HoldfastTesting
package import NIOCore

/// The contract of every `FleetValues`, including leases, as a test suite that returns its findings
/// about an engine.
///
/// Each sentence of the protocols' documentation that can be observed from outside is a rule. Rules
/// about faults are checked if the engine supports the faults.
package struct FleetValuesContract: Sendable {
    let makeEngine: @Sendable () async throws -> any FleetValuesEngine
    let seed: UInt64
    let timeout: Duration

    /// - Parameters:
    ///   - seed: the seed of all random choices; print it.
    ///   - timeout: the time limit for one rule, and for each call.
    ///   - makeEngine: creates an empty engine for a single rule.
    package init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(600),
        makeEngine: @escaping @Sendable () async throws -> any FleetValuesEngine
    ) {
        self.seed = seed
        self.timeout = timeout
        self.makeEngine = makeEngine
    }

    /// A rule, tested with its own engine.
    struct Rule: Sendable {
        var sentence: String
        var faults: Set<FleetValuesFault>
        var check: @Sendable (FleetValuesUnderTest) async throws -> Void

        init(
            _ sentence: String,
            with faults: Set<FleetValuesFault> = [],
            _ check: @escaping @Sendable (FleetValuesUnderTest) async throws -> Void
        ) {
            self.sentence = sentence
            self.faults = faults
            self.check = check
        }
    }

    private var allRules: [Rule] {
        Self.finding + Self.putting + Self.chunking + Self.leading + Self.failing
    }

    /// The rules that ``run(where:)`` checks.
    package var rules: [String] { allRules.map(\.sentence) }

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
            let engine: any FleetValuesEngine
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
                        FleetValuesUnderTest(engine: engine, findings: findings, seed: seed, limit: timeout)
                    )
                }
            }
            await engine.end()
        }
        return (found, tested)
    }
}

/// An engine under test.
package protocol FleetValuesEngine: Sendable {
    /// The faults that the engine supports.
    var faults: Set<FleetValuesFault> { get }

    /// Connects another node.
    func makeValues() async throws -> any FleetValues
    /// Returns the current time on the engine's clock.
    func now() async throws -> EngineTime
    /// Lets time pass on the engine's clock, by any amount. It may do nothing if the clock runs on
    /// its own.
    func passTime() async
    /// Puts bytes under a name, as another program might.
    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws
    /// Causes a fault. Nodes may find the engine unreachable for a while.
    func cause(_ fault: FleetValuesFault) async throws
    /// Releases all resources.
    func end() async
}

/// A fault of an engine.
package enum FleetValuesFault: Sendable, Hashable, CaseIterable {
    /// All data is removed.
    case flush
    /// The engine stops and restarts without its data.
    case restart
    /// The engine keeps its connections but stops replying.
    case stall
    /// The engine has no memory for more values.
    case fill
}
