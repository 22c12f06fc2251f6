import LibC
import NIOCore
import Testing

@testable import OriginConnections

@Suite(.timeLimit(.minutes(20))) struct DestinationPolicyTests {
    private func refusal(_ address: String, allowsPrivate: Bool = false) throws -> DestinationPolicy.Refusal? {
        let address = try SocketAddress(ipAddress: address, port: 443)
        return DestinationPolicy(allowsPrivate: allowsPrivate).refusal(of: address)
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "::ffff:0:127.0.0.1", "2002:7f00:1::", "::ffff:0.0.0.0",
        "2001:0:1:2:3:4:80ff:fffe", "2001:db8::5efe:7f00:1", "2001:db8::200:5efe:7f00:1",
    ])
    func thisMachineIsRefused(address: String) throws {
        #expect(try refusal(address) == .loopback)
        #expect(try refusal(address, allowsPrivate: true) == .loopback)
    }

    @Test(arguments: [
        "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
        "fc00::1", "fdff::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::c0a8:1", "2002:a00:1::1",
        "64:ff9b:1::101:101", "2001:0:1:2:3:4:f5ff:fffe",
    ])
    func privateNetworksNeedTheOption(address: String) throws {
        #expect(try refusal(address) == .privateNetwork)
        #expect(try refusal(address, allowsPrivate: true) == nil)
    }

    @Test(arguments: [
        "169.254.169.254", "fe80::1", "febf::1", "fe80::5efe:101:101", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    ])
    func linkLocalAddressesNeedTheOption(address: String) throws {
        #expect(try refusal(address) == .linkLocal)
        #expect(try refusal(address, allowsPrivate: true) == nil)
    }

    @Test(arguments: ["224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1", "::ffff:224.0.0.1"])
    func addressesOfGroupsAreRefused(address: String) throws {
        #expect(try refusal(address, allowsPrivate: true) == .multicast)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1", "128.0.0.1",
        "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "223.255.255.255", "2001:db8::1", "2606:4700::1",
        "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::", "2001:0:1:2:3:4:fefe:fefe", "2001:db8::5efe:101:101",
    ])
    func otherAddressesAreReached(address: String) throws {
        #expect(try refusal(address) == nil)
    }

    @Test func socketsWithoutAnAddressAreRefused() throws {
        let address = try SocketAddress(unixDomainSocketPath: "/tmp/a")
        #expect(DestinationPolicy(allowsPrivate: true).refusal(of: address) == .noAddress)
    }
}
