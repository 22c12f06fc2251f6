import FleetTesting
import FleetTier
import HoldfastTesting
import Testing

/// The contract of `FleetLog` on a real `redis-server`.
@Suite(.timeLimit(.minutes(20))) struct RedisLogContractTests {
    private let seed: UInt64 = 1

    @Test func loneServerKeepsTheContract() async {
        let contract = FleetLogContract(seed: seed, timeout: .seconds(600)) {
            try await RedisLogEngine(withReplica: false)
        }
        let (found, tested) = await contract.run()
        #expect(found == [], "seed \(seed)")
        #expect(tested == contract.rules.count - contract.rules(needing: .holdReplication).count)
    }

    @Test func serverWithAReplicaKeepsTheContract() async {
        let contract = FleetLogContract(seed: seed, timeout: .seconds(600)) {
            try await RedisLogEngine(withReplica: true)
        }
        let rules = contract.rules(needing: .holdReplication)
        let (found, tested) = await contract.run { rules.contains($0) }
        #expect(found == [], "seed \(seed)")
        #expect(tested == rules.count && tested >= 4)
    }
}
