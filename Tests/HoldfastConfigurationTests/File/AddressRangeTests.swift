import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct AddressRangeTests {
    @Test(arguments: [
        ("10.0.0.7", "10.0.0.7", true), ("10.0.0.7", "10.0.0.8", false), ("10.0.0.0/8", "10.255.1.2", true),
        ("10.0.0.0/8", "11.0.0.0", false), ("10.2.0.0/15", "10.1.2.3", false), ("10.0.0.0/15", "10.1.2.3", true),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("::1", "::1", true),
        ("fd00::/8", "fdab::1", true), ("fd00::/8", "fe80::1", false), ("fe80::/10", "fe80::1%eth0", true),
        ("10.0.0.0/8", "::ffff:10.0.0.7", true), ("::ffff:10.0.0.0/104", "10.9.9.9", true),
        ("10.0.0.0/8", "nonsense", false), ("10.0.0.0/8", "", false),
    ])
    func containsOnlyAddressesWithinTheRange(range: String, address: String, expected: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == expected)
    }

    @Test(arguments: [
        ("::ffff:10.0.0.7", "10.0.0.7"), ("::FFFF:a00:7", "10.0.0.7"), ("0:0:0:0:0:ffff:10.0.0.7", "10.0.0.7"),
        ("10.0.0.7", "10.0.0.7"), ("::10.0.0.7", "::10.0.0.7"), ("fe80::1%eth0", "fe80::1%eth0"), ("unix", "unix"),
        ("::ffff:nonsense", "::ffff:nonsense"), ("", ""),
    ])
    func addressInTheNotationOfIPv6IsPlain(address: String, expected: String) {
        #expect(AddressRange.plain(address) == expected)
    }

    @Test(
        arguments: [
            ("10.0.0.1/8", "10.0.0.0/8"), ("192.168.1.77/26", "192.168.1.64/26"), ("10.0.0.1/0", "0.0.0.0/0"),
            ("fd00::1/8", "fd00::/8"), ("2001:db8:1:2::3/63", "2001:db8:1:2::/63"), ("::1/64", "::/64"),
            ("::ffff:10.0.0.1/104", "10.0.0.0/8"), ("10.0.0.0/8", nil), ("10.0.0.1/33", nil), ("10.0.0.1/x", nil),
            ("10.0.0.1/+8", nil), ("10.0.0.1", nil), ("::ffff:10.0.0.1/8", nil), ("a/8", nil),
        ] as [(String, String?)]
    )
    func intendedNetworkIsFound(text: String, expected: String?) {
        #expect(AddressRange.intended(by: text)?.description == expected)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8", true), ("10.0.0.0/8", "10.1.0.0/16", true), ("10.1.0.0/16", "10.0.0.0/8", false),
        ("0.0.0.0/0", "10.0.0.7", true), ("0.0.0.0/0", "::/0", false), ("::/0", "0.0.0.0/0", false),
        ("unix", "unix", true), ("::/0", "unix", false), ("unix", "10.0.0.7", false),
        ("10.0.0.0/8", "::ffff:10.0.0.7", true),
    ])
    func rangeCoversOther(range: String, other: String, expected: Bool) throws {
        #expect(try #require(AddressRange(range)).covers(try #require(AddressRange(other))) == expected)
    }

    @Test(arguments: [
        "", "10", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/8", "::1/64", "::/129",
        "a.example",
        "10.0.0.0/8/8", "::ffff:10.0.0.0/8",
    ])
    func rejectsMalformedRanges(text: String) {
        #expect(AddressRange(text) == nil)
    }
}
