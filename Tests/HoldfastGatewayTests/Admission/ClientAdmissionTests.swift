import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import NIOCore
import Testing

@testable import HoldfastGateway

/// The rights of a client, as a value.
@Suite(.timeLimit(.minutes(20))) struct ClientAdmissionTests {
    private func configuration(_ trusted: String...) throws -> GatewayConfiguration {
        var configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.example"))
        configuration.trustedClients = trusted.compactMap { AddressRange($0) }
        return configuration
    }

    private func admission(
        _ peer: String?,
        _ configuration: GatewayConfiguration,
        checks: [any RequestCheck] = []
    ) -> ClientAdmission {
        let admission = Admission()
        admission.requestChecks = checks
        return ClientAdmission(GatewayClient(address: peer), by: admission, settings: 0, configuration)
    }

    /// Mutant: `farthest-forwarded-address-counts`.
    @Test func trustedPeerStatesTheClientsAddress() throws {
        let configuration = try configuration("10.0.0.0/8")
        func principal(_ peer: String?, _ fields: HTTPFields) -> RequestClient {
            admission(peer, configuration).principal(fields, configuration)
        }
        let forwarded = RequestClient("192.0.2.1")
        #expect(principal("10.0.0.1", [.xForwardedFor: "192.0.2.1"]) == forwarded)
        // Any client may have written the addresses before the first untrusted one.
        #expect(principal("10.0.0.1", [.xForwardedFor: "203.0.113.9, 192.0.2.1, 10.0.0.2"]) == forwarded)
        #expect(principal("10.0.0.1", [.xForwardedFor: "192.0.2.1:4711"]) == forwarded)
        #expect(principal("10.0.0.1", [.forwarded: "for=203.0.113.9, proto=https;for=\"192.0.2.1\""]) == forwarded)
        #expect(principal("10.0.0.1", [.forwarded: "For=\"[2001:db8::1]:4711\""]) == RequestClient("2001:db8::1"))
        #expect(principal("10.0.0.1", [:]) == RequestClient("10.0.0.1"))
        #expect(principal("198.51.100.7", [.xForwardedFor: "192.0.2.1"]) == RequestClient("198.51.100.7"))
        #expect(principal(nil, [.xForwardedFor: "192.0.2.1"]) == .none)
    }

    /// An exchange may use another configuration than the one that the admission was made for.
    @Test func trustFollowsTheConfigurationThatIsAskedFor() throws {
        let (trusting, other) = (try configuration("10.0.0.0/8"), try configuration("192.0.2.0/24"))
        let admission = admission("10.0.0.1", trusting)
        #expect(admission.isTrusted(by: trusting) && !admission.isTrusted(by: other))
        #expect(admission.isTrusted(by: try configuration("10.0.0.0/8")))
        #expect(!admission.isTrusted(by: try configuration()))
    }

    /// A request is checked either before or after it is decoded, never twice.
    @Test(arguments: ["10.0.0.1", "198.51.100.7"]) func checksAreAskedOnce(_ peer: String) throws {
        let configuration = try configuration("10.0.0.0/8")
        let check = RecordedCheck { _ in true }
        let admission = admission(peer, configuration, checks: [check])
        let fields: HTTPFields = [.xForwardedFor: "192.0.2.1"]
        let problems = [
            admission.ownChecks.firstProblem(at: .now()), admission.problem(naming: fields, at: .now(), configuration),
        ]
        #expect(problems.compactMap(\.self).count == 1)
        let isTrusted = peer == "10.0.0.1"
        #expect(admission.isChecked != isTrusted && admission.needsFields == isTrusted)
        #expect(check.clients.map(\.text) == [isTrusted ? "192.0.2.1" : peer])
    }

    @Test(arguments: ["10.0.0.1", "198.51.100.7"]) func withoutChecksNothingIsAsked(_ peer: String) throws {
        let configuration = try configuration("10.0.0.0/8")
        let admission = admission(peer, configuration)
        #expect(!admission.isChecked && !admission.needsFields)
    }
}
