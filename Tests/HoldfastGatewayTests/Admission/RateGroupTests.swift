import HoldfastConfiguration
import Testing

@testable import HoldfastGateway

/// Clients that share a bucket.
@Suite(.timeLimit(.minutes(20))) struct RateGroupTests {
    /// Mutant: `each-ipv6-address-has-a-rate`.
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7", true, true), ("192.0.2.7", "::ffff:192.0.2.7", true, true),
        ("192.0.2.7", "192.0.2.200", false, true), ("192.0.2.7", "192.0.3.7", false, false),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true, true),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", false, true),
        ("2001:db8:1:200::1", "2001:db8:1:2ff::1", false, true),
        ("2001:db8:1:200::1", "2001:db8:1:300::1", false, false),
        ("::1", "0.0.0.0", false, false), ("::192.0.2.7", "192.0.2.7", false, false),
        ("fe80::1%eth0", "fe80::2%eth1", true, true), ("unix", "unix", true, true), ("unix", "127.0.0.1", false, false),
        ("unix", "unknown", false, false), ("unknown", "_hidden", true, true), ("unknown", "0.0.0.0", false, false),
    ])
    func groupsClientsByAddressOrPrefix(one: String, other: String, byAddress: Bool, byPrefix: Bool) {
        #expect((RateGroup(one, by: .address) == RateGroup(other, by: .address)) == byAddress)
        #expect((RateGroup(one, by: .prefix) == RateGroup(other, by: .prefix)) == byPrefix)
    }

    @Test func clientsWithoutAnAddressShareOne() {
        #expect(RateGroup(nil, by: .address) == .unknown && RateGroup(nil, by: .prefix) == .unknown)
    }
}
