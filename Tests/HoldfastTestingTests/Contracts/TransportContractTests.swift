import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import NIOPosix
import Testing

@Suite(.timeLimit(.minutes(20))) struct TransportContractTests {
    @Test func plainTransportKeepsContract() async throws {
        let found = try await TransportContract(PlainTransport(), timeout: .seconds(600)).run()
        #expect(found == [])
    }

    @Test func everyRuleIsADistinctSentence() {
        let rules = TransportContract(PlainTransport()).rules
        #expect(Set(rules).count == rules.count && rules.count > 12)
        #expect(rules.allSatisfy { $0.hasSuffix(".") })
    }

    @Test(arguments: PlainTransport.Mutation.allCases)
    func detectsTransportThatBreaksOneRule(_ mutation: PlainTransport.Mutation) async throws {
        let contract = TransportContract(PlainTransport(mutation), timeout: .seconds(5))
        let found = try await contract.run { $0.contains(mutation.rawValue) }
        #expect(!found.isEmpty)
    }

    @Test func everyRuleDetectsTransportWithoutResponses() async throws {
        let contract = TransportContract(ScriptedTransport(), timeout: .seconds(1))
        let found = try await contract.run()
        #expect(Set(found.map(\.rule)) == Set(contract.rules))
    }
}
