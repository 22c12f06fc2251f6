import HoldfastConfiguration
import NIOCore
import NIOPosix
import Testing

@testable import HoldfastGateway

/// Decisions about connections, and who may purge.
@Suite(.timeLimit(.minutes(20)))
struct AdmissionTests {
    private static let proxy = "10.0.0.1"

    private func configuration(connections: Int = 8) throws -> GatewayConfiguration {
        var configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.test"))
        configuration.maximumConnections = connections
        configuration.maximumConnectionsPerClient = 1
        configuration.trustedClients = [Self.proxy].compactMap { AddressRange($0) }
        return configuration
    }

    /// Channels that are not connected, and are open until the end.
    private func withChannels(_ count: Int, _ body: ([any Channel]) throws -> Void) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(try await ServerBootstrap(group: loop).bind(host: "127.0.0.1", port: 0).get())
        }
        try body(channels)
        for channel in channels { try await channel.close() }
    }

    /// Mutant: `stranger-counts-before-its-header`.
    @Test func untrustedPeerDoesNotCount() async throws {
        let configuration = try configuration()
        try await withChannels(3) { channels in
            let admission = Admission()
            for peer in ["192.0.2.1", nil] {
                for channel in channels {
                    #expect(admission.admit(channel, from: peer, isProxied: true, configuration) == .untrustedPeer)
                }
            }
            #expect(admission.connections.count == 0)
        }
    }

    @Test func proxysConnectionCountsForTheClientOfItsHeader() async throws {
        let configuration = try configuration()
        try await withChannels(3) { channels in
            let admission = Admission()
            for channel in channels {
                #expect(admission.admit(channel, from: Self.proxy, isProxied: true, configuration) == .awaitHeader)
            }
            let client = ClientAddress(text: "192.0.2.1")
            #expect(admission.admit(channels[0], named: client, configuration) == .serve)
            #expect(admission.admit(channels[1], named: client, configuration) == .exceeds(.perClient))
            // A header that names no client leaves the connection to the proxy.
            let proxy = ClientAddress(text: Self.proxy, isOwn: false)
            #expect(admission.admit(channels[2], named: proxy, configuration) == .serve)
        }
    }

    @Test func limitOfAllConnectionsComesBeforeTheClients() async throws {
        let configuration = try configuration(connections: 1)
        try await withChannels(2) { channels in
            let admission = Admission()
            #expect(admission.admit(channels[0], from: "192.0.2.1", isProxied: false, configuration) == .serve)
            #expect(
                admission.admit(channels[1], from: "192.0.2.1", isProxied: false, configuration) == .exceeds(.all)
            )
        }
    }

    private struct Purger: ClientPurging {
        func client(presenting credentials: [String], from address: String) -> String? {
            credentials == ["Bearer right"] ? "deploy" : nil
        }

        func perform(_ purge: ClientPurge, by client: String) async -> ClientPurgeResponse {
            ClientPurgeResponse(status: 200, json: [])
        }
    }

    /// Mutant: `attack-41-purge-without-a-token`.
    @Test func purgerNeedsAnAddressOfItsOwnAndAToken() throws {
        var configuration = try configuration()
        configuration.purgers = [Self.proxy].compactMap { AddressRange($0) }
        for (address, isOwn, token, isPurger) in [
            (Self.proxy, true, "Bearer right", true), (Self.proxy, true, "Bearer wrong", false),
            (Self.proxy, false, "Bearer right", false), ("192.0.2.1", true, "Bearer right", false),
            (nil, true, "Bearer right", false),
        ] as [(String?, Bool, String, Bool)] {
            let client = GatewayClient(address: address, hasOwnAddress: isOwn)
            let name = Admission(purging: Purger()).purger(client, presenting: [token], configuration)
            #expect(name == (isPurger ? "deploy" : nil), "\(address ?? "none") \(isOwn) \(token)")
            #expect(Admission().purger(client, presenting: [token], configuration) == nil)
        }
    }
}
