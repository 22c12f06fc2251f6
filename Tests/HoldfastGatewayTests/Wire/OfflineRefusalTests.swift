import HTTPCacheSemantics
import Testing

@testable import HTTPCache
@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct OfflineRefusalTests {
    private func refusal(by name: String?) -> OfflineRefusal? {
        var error = ExchangeError(code: .staleForbidden, message: "", status: 504, outcome: CacheOutcome())
        error.forbiddenBy = name
        return OfflineRefusal(error)
    }

    @Test(arguments: StaleProhibition.allCases)
    func eachProhibitionHasItsOwnLabel(_ prohibition: StaleProhibition) throws {
        let found = try #require(refusal(by: prohibition.rawValue))
        #expect(found.label == prohibition.rawValue)
        #expect(OfflineRefusal.allCases.filter { $0 == found }.count == 1)
    }

    @Test(arguments: ["stale.unreachable", "stale.offline"])
    func limitsOfRulesShareOneLabel(_ setting: String) {
        #expect(refusal(by: setting)?.label == "limit")
    }

    @Test func labelsDiffer() {
        #expect(Set(OfflineRefusal.allCases.map(\.label)).count == OfflineRefusal.allCases.count)
    }

    /// A detail that is not listed would be counted as `other`.
    @Test func liftedDirectivesAreCountedByName() {
        let other = RouteCounters.staleDetail(CacheOutcome(detail: .init("new")))
        for prohibition in StaleProhibition.allCases where prohibition.liftedBy != nil {
            let outcome = CacheOutcome(isHit: true, detail: .despite(prohibition.rawValue))
            #expect(RouteCounters.staleDetail(outcome) != other, "\(prohibition)")
        }
    }
}
