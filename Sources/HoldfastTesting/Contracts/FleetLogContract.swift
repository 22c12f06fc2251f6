package import FleetTier

/// The contract of every `FleetLog`, as a suite that tests an engine and returns its findings.
///
/// Every sentence of the protocol's documentation that can be observed from outside is a rule.
/// Rules about faults are checked if the engine can have them.
package struct FleetLogContract: Sendable {
    let makeEngine: @Sendable () async throws -> any FleetLogEngine
    let seed: UInt64
    let timeout: Duration

    /// - Parameters:
    ///   - seed: of all random choices; print it.
    ///   - timeout: for one rule, and for each call.
    ///   - makeEngine: makes an empty engine for one rule alone.
    package init(
        seed: UInt64 = 1,
        timeout: Duration = .seconds(30),
        makeEngine: @escaping @Sendable () async throws -> any FleetLogEngine
    ) {
        self.seed = seed
        self.timeout = timeout
        self.makeEngine = makeEngine
    }

    /// One rule, tested with its own engine.
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

    /// The sentences that ``run(where:)`` checks.
    package var rules: [String] { allRules.map(\.sentence) }

    /// The sentences whose check needs a fault.
    package func rules(needing fault: FleetLogFault) -> [String] {
        allRules.filter { $0.faults.contains(fault) }.map(\.sentence)
    }

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
    /// The faults that it can have.
    var faults: Set<FleetLogFault> { get }

    /// The connection of a further node to the present primary.
    func makeLog() async throws -> any FleetLog
    /// Lets time pass on the engine's clock: any amount, also none if its clock moves by itself.
    func passTime() async
    /// Has a fault. Nodes may find the engine unreachable for a while.
    func cause(_ fault: FleetLogFault) async throws
    /// Releases everything.
    func end() async
}

/// A fault of an engine.
package enum FleetLogFault: Sendable, Hashable, CaseIterable {
    /// All data are removed.
    case flush
    /// The primary ends, and starts again with its data.
    case restart
    /// The primary keeps its connections, and replies to nothing more.
    case stall
    /// The log alone is evicted.
    case evictLog
    /// The names of purges are evicted.
    case evictNames
    /// The replica gets nothing more. An engine with this fault has one replica before it.
    case holdReplication
    /// The replica becomes the primary, and the old primary ends.
    case failOver
    /// The replica becomes the primary, and the old one lives on for those who are connected to it.
    case split
}
