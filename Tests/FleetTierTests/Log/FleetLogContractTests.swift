import FleetTesting
import FleetTier
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct FleetLogContractTests {
    private let seed: UInt64 = 1

    @Test func engineInMemoryKeepsContract() async {
        let contract = FleetLogContract(seed: seed, timeout: .seconds(600)) { InMemoryEngine() }
        let (found, tested) = await contract.run()
        #expect(found == [], "seed \(seed)")
        #expect(tested == contract.rules.count)
    }

    @Test func everyRuleIsADistinctSentence() {
        let rules = FleetLogContract { InMemoryEngine() }.rules
        #expect(Set(rules).count == rules.count && rules.allSatisfy { $0.hasSuffix(".") })
    }

    /// Each defect breaks a rule.
    @Test(arguments: FaultyLog.Defect.allCases) func defectBreaksTheContract(_ defect: FaultyLog.Defect) async {
        let contract = FleetLogContract(seed: seed, timeout: .seconds(600)) {
            InMemoryEngine { FaultyLog($0, defect) }
        }
        #expect(await !contract.run { $0.contains(defect.rule) }.findings.isEmpty)
    }
}
