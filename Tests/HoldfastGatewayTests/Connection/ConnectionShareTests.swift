import HoldfastConfiguration
import NIOCore
import NIOPosix
import Testing

@testable import HoldfastGateway

/// How clients share the connections that there may be. docs/attacks.md, 86
@Suite(.timeLimit(.minutes(20))) struct ConnectionShareTests {
    private func configuration(_ limit: Int, trusted: [String] = []) throws -> GatewayConfiguration {
        var configuration = GatewayConfiguration(origin: try GatewayOrigin("http://a.test"))
        configuration.maximumConnections = limit
        configuration.trustedClients = trusted.compactMap { AddressRange($0) }
        return configuration
    }

    /// Channels that are not connected, and are open until the end.
    private func withChannels(_ count: Int, _ body: ([any Channel]) throws -> Void) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var channels: [any Channel] = []
        for _ in 0..<count {
            channels.append(
                try await ServerBootstrap(group: loop).bind(host: "127.0.0.1", port: 0).get()
            )
        }
        try body(channels)
        for channel in channels { try await channel.close() }
    }

    @Test(arguments: [1, 3, 4, 8, 30, 40]) func oneClientLeavesTheLastQuarterToOthers(_ limit: Int) async throws {
        let configuration = try configuration(limit)
        try await withChannels(limit + 1) { channels in
            let connections = ConnectionRegistry()
            let own = channels.prefix { connections.admit($0, of: "192.0.2.1", configuration) == nil }.count
            #expect(own == limit - limit / 4)
            let rest = channels[own...]
            if limit / 4 > 0 { #expect(connections.admit(rest[own], of: "192.0.2.1", configuration) == .perClient) }
            for (number, channel) in rest.dropLast().enumerated() {
                #expect(connections.admit(channel, of: "192.0.2.\(2 + number)", configuration) == nil)
            }
            #expect(connections.admit(channels[limit], of: "192.0.2.99", configuration) == .all)
        }
    }

    /// The connections of a trusted proxy are those of many clients, until it names them.
    @Test func clientThatProxyNamesHasItsOwnShare() async throws {
        let configuration = try configuration(8, trusted: ["10.0.0.1"])
        try await withChannels(8) { channels in
            let connections = ConnectionRegistry()
            for channel in channels { #expect(connections.admit(channel, of: "10.0.0.1", configuration) == nil) }
            var moved = 0
            for channel in channels where connections.move(channel, to: "192.0.2.1", configuration) == nil {
                moved += 1
            }
            #expect(moved == 2, "all places are taken, so a client has a quarter at most")
        }
    }
}
