import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

/// Every decision by failures, under the same generated histories: targets that always fail among
/// healthy ones cost the healthy ones at most one percent. docs/decisions/0053
///
/// A new decision gets an adapter in `Decisions.swift`, and a line here.
@Suite(.timeLimit(.minutes(20))) struct FailureDecisionTests {
    static let decisions: [any FailureDecision.Type] = [
        BreakerDecision.self, HealthDecision.self, CheckDecision.self, SupervisorDecision.self, ValueDecision.self,
        DiskDecision<LittleRoom>.self, DiskDecision<Quota>.self, DiskDecision<UnknownRoom>.self,
    ]

    /// Mutants: `one-url-sets-a-server-aside`, `one-failed-check-sets-aside`,
    /// `one-large-response-keeps-small-ones-out`, `one-key-closes-the-breaker`.
    @Test(arguments: decisions.indices, [1, 2] as [UInt64])
    func targetsThatAlwaysFailCostOthersOnePercent(_ decision: Int, seed: UInt64) {
        func check<Decision: FailureDecision>(_ type: Decision.Type) {
            for history in FailureHistory.all(seed: seed) where history.failingTargets <= Decision.failingTargetLimit {
                let (healthy, lost) = history.play(type)
                #expect(
                    healthy > 300 && lost * 100 <= healthy,
                    "\(Decision.name): lost \(lost) of \(healthy); \(history)"
                )
            }
        }
        check(Self.decisions[decision])
    }

    /// A decision that never acts would pass the property: if everything fails, each of them acts.
    @Test(arguments: decisions.indices) func eachActsIfEverythingFails(_ decision: Int) {
        func check<Decision: FailureDecision>(_ type: Decision.Type) {
            var decision = Decision()
            var random = SeededRandom(seed: 1)
            var (admitted, rejected) = (0, 0)
            for second in 0..<60 {
                let now = Timestamp(milliseconds: 1_000_000 + Int64(second) * 1000)
                // Targets below a million are large to a disk.
                for number in 0..<20 {
                    let asked = AskedTarget(target: second * 20 + number, request: second * 20 + number)
                    if decision.admits(asked, at: now) {
                        admitted += 1
                        decision.ended(asked, .silence, isOwn: false, at: now)
                    } else {
                        rejected += 1
                    }
                    if let own = decision.ownRequest(at: now, &random) {
                        decision.ended(own, .hangUp, isOwn: true, at: now)
                    }
                }
            }
            #expect(rejected > admitted, "\(Decision.name): \(admitted) admitted, \(rejected) rejected")
        }
        // A slow reply to each command is no reason to stop asking Redis: its replies come.
        guard Self.decisions[decision] != SupervisorDecision.self else { return }
        check(Self.decisions[decision])
    }
}
