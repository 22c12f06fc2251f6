import HTTPCache
import HTTPClientTransport
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOPosix
import Testing

/// Both ways to origins keep the one contract.
@Suite(.timeLimit(.minutes(20))) struct OwnTransportsTests {
    /// Longer than any operation takes on a busy machine.
    private let patience = Duration.seconds(600)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func libraryTransportKeepsContract() async throws {
        let transport = HTTPClientTransport(
            configuration: .init(connectTimeout: patience, idleTimeout: patience),
            logger: logger
        )
        let findings = try await TransportContract(transport, timeout: patience).run()
        try await transport.shutDown()
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func gatewayTransportKeepsContract() async throws {
        var configuration = OriginTransport.Configuration()
        configuration.connectTimeout = patience
        configuration.firstByteTimeout = patience
        configuration.readTimeout = patience
        let transport = try OriginTransport(
            configuration: configuration,
            group: MultiThreadedEventLoopGroup.singleton,
            logger: logger
        )
        let findings = try await TransportContract(transport, timeout: patience).run()
        await transport.shutDown()
        #expect(findings.isEmpty, "\(findings)")
    }
}
