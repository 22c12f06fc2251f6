package import FleetTier
package import NIOCore

/// The contract of every `FleetValues`, leases included, as a suite that tests an engine and
/// returns its findings.
///
/// Every sentence of the protocols' documentation that can be observed from outside is a rule.
/// Rules about faults are checked if the engine can have them.
package struct FleetValuesContract: Sendable {
    let makeEngine: @Sendable () async throws -> any FleetValuesEngine
    let seed: UInt64
    let timeout: Duration

    /// - Parameters:
    ///   - seed: of all random choices; print it.
    ///   - timeout: for one rule, and for each call.
    ///   - makeEngine: makes an empty engine for one rule alone.
    package init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(30),
        makeEngine: @escaping @Sendable () async throws -> any FleetValuesEngine
    ) {
        self.seed = seed
        self.timeout = timeout
        self.makeEngine = makeEngine
    }

    /// One rule, tested with its own engine.
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

    /// The sentences that ``run(where:)`` checks.
    package var rules: [String] { allRules.map(\.sentence) }

    /// Tests the rules, each with its own engine.
    ///
    /// - Parameter isIncluded: whether to test a rule, by its sentence; all rules by default.
    /// - Returns: the breaches, and how many rules were tested.
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
    /// The faults that it can have.
    var faults: Set<FleetValuesFault> { get }

    /// The connection of a further node.
    func makeValues() async throws -> any FleetValues
    /// The instant on the engine's clock.
    func now() async throws -> EngineTime
    /// Lets time pass on the engine's clock: any amount, also none if its clock moves by itself.
    func passTime() async
    /// Puts bytes under a name, as another program does.
    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws
    /// Has a fault. Nodes may find the engine unreachable for a while.
    func cause(_ fault: FleetValuesFault) async throws
    /// Releases everything.
    func end() async
}

/// A fault of an engine.
package enum FleetValuesFault: Sendable, Hashable, CaseIterable {
    /// All data are removed.
    case flush
    /// It ends, and starts again without its data.
    case restart
    /// It keeps its connections, and replies to nothing more.
    case stall
    /// It has no memory for more values.
    case fill
}
