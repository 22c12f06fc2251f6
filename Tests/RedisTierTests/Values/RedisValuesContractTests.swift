import FleetTesting
import FleetTier
import HoldfastTesting
import Testing

/// The contract of `FleetValues` on a real `redis-server`.
@Suite(.timeLimit(.minutes(20))) struct RedisValuesContractTests {
    private let seed: UInt64 = 1

    @Test func serverKeepsTheContract() async {
        let contract = FleetValuesContract(seed: seed, timeout: .seconds(600)) { try await RedisValuesEngine() }
        let (found, tested) = await contract.run()
        #expect(found == [], "seed \(seed)")
        #expect(tested == contract.rules.count)
    }
}
