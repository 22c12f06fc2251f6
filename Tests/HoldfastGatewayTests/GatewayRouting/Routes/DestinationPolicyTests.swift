import HoldfastConfiguration
import NIOCore
import Testing

@testable import GatewayRouting

@Suite(.timeLimit(.minutes(20))) struct DestinationPolicyTests {
    private func refusal(_ address: String, allowsPrivate: Bool = false) throws -> DestinationPolicy.Refusal? {
        let address = try SocketAddress(ipAddress: address, port: 443)
        return DestinationPolicy(allowsPrivate: allowsPrivate).refusal(of: address) { nil }
    }

    /// The policy of a gateway that listens on port 8080.
    private func gateways(_ allowed: [String] = []) throws -> DestinationPolicy {
        var policy = DestinationPolicy(allowsPrivate: false)
        policy.allowed = try allowed.map { try #require(AddressRange($0)) }
        policy.ownPorts = [8080]
        return policy
    }

    private func refusal(
        _ address: String,
        port: Int = 443,
        by policy: DestinationPolicy,
        own: Set<[UInt8]>? = []
    ) throws -> DestinationPolicy.Refusal? {
        try policy.refusal(of: SocketAddress(ipAddress: address, port: port)) { own }
    }

    @Test(arguments: [
        ("10.0.0.7", "10.0.0.0/8"), ("169.254.1.1", "169.254.1.1"), ("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
        ("::ffff:10.0.0.7", "10.0.0.7"), ("fd00::1", "fd00::/8"), ("64:ff9b::a00:1", "64:ff9b::a00:1"),
    ])
    func listedAddressesAreReached(address: String, range: String) throws {
        #expect(try refusal(address, by: gateways()) != nil)
        #expect(try refusal(address, by: gateways([range])) == nil)
        #expect(try refusal(address, by: gateways(["192.0.2.0/24"])) != nil)
    }

    /// A translated address is another way to the machine, which the list must name itself.
    @Test func listedAddressesAreNotReachedByTranslation() throws {
        let policy = try gateways(["10.0.0.0/8", "127.0.0.1"])
        #expect(try refusal("64:ff9b::a00:1", by: policy) == .privateNetwork)
        #expect(try refusal("2002:7f00:1::", by: policy) == .loopback)
    }

    @Test func groupsAreRefusedEvenIfListed() throws {
        #expect(try refusal("224.0.0.1", by: gateways(["224.0.0.0/4"])) == .multicast)
    }

    /// Mutant: an address of an interface is another machine's.
    @Test(arguments: ["203.0.113.5", "::ffff:203.0.113.5", "64:ff9b::cb00:7105", "2001:db8::5"])
    func addressesOfThisMachineAreRefused(address: String) throws {
        let v6 = try #require(AddressRange.bytes(of: "2001:db8::5"))
        let own: Set<[UInt8]> = [[203, 0, 113, 5], v6]
        #expect(try refusal(address, by: gateways(), own: own) == .loopback)
        #expect(try refusal(address, by: gateways(), own: []) == nil)
        #expect(try refusal(address, by: gateways(), own: nil) == .loopback)
        #expect(try refusal(address, by: gateways(["203.0.113.5", "2001:db8::5", address]), own: own) == nil)
    }

    /// Mutant: a listed address leads to the gateway's own listeners too.
    @Test(arguments: ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "203.0.113.5"])
    func ownListenersAreNeverReached(address: String) throws {
        let policy = try gateways(["0.0.0.0/0", "::/0"])
        #expect(try refusal(address, port: 8080, by: policy, own: [[203, 0, 113, 5]]) == .ownListener)
        #expect(try refusal(address, port: 8081, by: policy, own: [[203, 0, 113, 5]]) == nil)
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
        #expect(DestinationPolicy(allowsPrivate: true).refusal(of: address) { nil } == .noAddress)
    }
}
