import HTTPCache
import HTTPClientTransport
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOPosix
import Testing

/// Both ways to origins keep the one contract.
@Suite(.timeLimit(.minutes(20))) struct OwnTransportsTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func theLibrarysTransportKeepsTheContract() async throws {
        let transport = HTTPClientTransport(logger: logger)
        let findings = try await TransportContract(transport, timeout: .seconds(600)).run()
        try await transport.shutDown()
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func theGatewaysTransportKeepsTheContract() async throws {
        let transport = try OriginTransport(group: MultiThreadedEventLoopGroup.singleton, logger: logger)
        let findings = try await TransportContract(transport, timeout: .seconds(600)).run()
        await transport.shutDown()
        #expect(findings.isEmpty, "\(findings)")
    }
}
