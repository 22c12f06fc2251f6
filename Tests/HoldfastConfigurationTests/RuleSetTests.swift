import HoldfastConfiguration
import Testing

@Suite struct RuleSetTests {
    @Test func noRulesDecideNothing() throws {
        #expect(try RuleSet([]).rules.isEmpty)
    }
}
