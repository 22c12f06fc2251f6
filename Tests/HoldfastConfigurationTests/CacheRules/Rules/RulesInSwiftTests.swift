import HoldfastConfiguration
import Testing

/// Rules made in Swift.
@Suite(.timeLimit(.minutes(20))) struct RulesInSwiftTests {
    @Test func closureAssignsSettings() {
        var expected = RuleSettings()
        expected.freshness.lifetime = .seconds(300)
        expected.stale.unreachable = .limited(.seconds(604_800))
        let settings = RuleSettings {
            $0.freshness.lifetime = .minutes(5)
            $0.stale.unreachable = .limited(.days(7))
        }
        #expect(settings == expected && settings != RuleSettings())
        #expect(RuleSettings { _ in } == RuleSettings())
    }

    @Test func ruleTakesMatchAndClosure() throws {
        let rule = Rule("catalogue", matching: .init(urls: ["https://a.example/catalogue/**"])) {
            $0.freshness.lifetime = .hours(1)
        }
        #expect(rule.name == "catalogue" && rule.match.urls == ["https://a.example/catalogue/**"])
        #expect(rule.settings.freshness.lifetime == .seconds(3600))
        #expect(try RuleSet([rule, Rule { $0.usesBreaker = false }]).rules.count == 2)
    }

    @Test func errorsOfTheClosureAreRethrown() {
        struct Failure: Error {}
        #expect(throws: Failure.self) { try RuleSettings { _ in throw Failure() } }
        #expect(throws: Failure.self) { try Rule { _ in throw Failure() } }
    }
}
