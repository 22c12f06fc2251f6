import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import Testing

/// The settings of a rule for one request.
@Suite(.timeLimit(.minutes(20))) struct RuleOverrideTests {
    private func settings(_ change: (inout RuleSettings) -> Void) -> RuleSettings {
        var settings = RuleSettings()
        change(&settings)
        return settings
    }

    @Test func overridesItsSettingsAndKeepsTheOthers() throws {
        let override = try RuleOverride(
            settings {
                $0.freshness.lifetime = .seconds(300)
                $0.softTimeout = .on(.seconds(2))
                $0.ignore.parameters = ["page"]
                $0.goodDataGuard = .off
            }
        )
        var changed = ExchangeSettings()
        changed.overrides.lifetime = 10
        changed.tags = ["kept"]
        override.apply(to: &changed)
        #expect(changed.overrides.lifetime == 300)
        #expect(changed.softTimeout == .value(.seconds(2)))
        #expect(changed.target.ignoredParameters == ["page"])
        #expect(changed.goodDataGuard == .off)
        #expect(changed.tags == ["kept"])
    }

    @Test func equalsARuleWithTheSameSettings() throws {
        let settings = settings {
            $0.freshness.default = .seconds(60)
            $0.stale.unreachable = .limited(.seconds(600))
            $0.stale.ignore = [.mustRevalidate]
            $0.ignore.fields = [.cookie]
            $0.store.content = .graphQL
            $0.store.largest = 1 << 20
            $0.tags = ["a"]
            $0.usesBreaker = false
            $0.mode = .preferStored
        }
        let rules = try RuleSet([Rule(settings: settings)])
        let request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/")
        var changed = ExchangeSettings()
        try RuleOverride(settings).apply(to: &changed)
        #expect(changed == rules.rules(for: request).settings)
    }

    @Test func overridesWithEqualSettingsAreEqual() throws {
        let one = try RuleOverride(settings { $0.freshness.lifetime = .seconds(300) })
        let same = try RuleOverride(settings { $0.freshness.lifetime = .seconds(300) }, named: "another")
        let other = try RuleOverride(settings { $0.freshness.lifetime = .seconds(301) })
        #expect(one == same && one.hashValue == same.hashValue)
        #expect(one != other)
    }

    @Test func fieldValuesAreLookedUpAndNeverShown() throws {
        let name = try #require(HTTPField.Name("X-Api-Key"))
        let settings = settings { $0.toOrigin.set = [name: .environment("KEY")] }
        let override = try RuleOverride(settings, environment: ["KEY": "s3cr3t"])
        var changed = ExchangeSettings()
        override.apply(to: &changed)
        #expect(changed.requestFields.set[name] == "s3cr3t")
        #expect(!"\(override) \(String(reflecting: override)) \(override.decisions)".contains("s3cr3t"))
        let rotated = try RuleOverride(settings, environment: ["KEY": "rotated"])
        #expect(override != rotated)
        #expect(throws: ConfigurationError.self) { try RuleOverride(settings, environment: [:]) }
    }

    @Test func settingsThatRulesMayNotHaveAreRejected() throws {
        #expect(throws: ConfigurationError.self) { try RuleOverride(settings { $0.eagerRefresh = .on(7) }) }
    }

    @Test func emptyOverrideChangesNothing() throws {
        var changed = ExchangeSettings()
        let override = try RuleOverride(RuleSettings())
        override.apply(to: &changed)
        #expect(changed == ExchangeSettings())
        #expect(override.decisions.isEmpty)
    }

    @Test func decisionsUseTheNamesOfTheFile() throws {
        let override = try RuleOverride(settings { $0.freshness.lifetime = .seconds(300) }, named: "feed")
        #expect(override.decisions.map(\.setting) == ["freshness.lifetime"])
        #expect(override.decisions.first?.rule == "feed")
        #expect(override.decisions.first?.value.isEmpty == false)
    }
}
