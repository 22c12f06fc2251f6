import FleetTesting
import FleetTier
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct FleetValuesContractTests {
    private let seed: UInt64 = 1

    @Test func engineInMemoryKeepsContract() async {
        let contract = FleetValuesContract(seed: seed, timeout: .seconds(600)) { InMemoryValuesEngine() }
        let (found, tested) = await contract.run()
        #expect(found == [], "seed \(seed)")
        #expect(tested == contract.rules.count)
    }

    /// Each rule can be broken: a defect has its name.
    @Test func everyRuleHasItsDefect() {
        let rules = FleetValuesContract { InMemoryValuesEngine() }.rules
        #expect(Set(rules).count == rules.count && rules.allSatisfy { $0.hasSuffix(".") })
        for rule in rules {
            #expect(FaultyValues.Defect.allCases.count { rule.hasPrefix($0.rule) } == 1, "\(rule)")
        }
        #expect(rules.count == FaultyValues.Defect.allCases.count)
    }

    /// Each defect breaks its rule. A rule that waits for something that never comes ends with the
    /// timeout.
    @Test(arguments: FaultyValues.Defect.allCases) func defectBreaksTheContract(_ defect: FaultyValues.Defect) async {
        let contract = FleetValuesContract(seed: seed, timeout: .seconds(2)) {
            InMemoryValuesEngine { FaultyValues($0, $1, defect) }
        }
        let (found, tested) = await contract.run { $0.hasPrefix(defect.rule) }
        #expect(tested == 1 && !found.isEmpty)
    }
}
