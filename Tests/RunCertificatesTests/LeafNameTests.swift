import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct LeafNameTests {
    @Test(arguments: ["a.example", "a", "_dmarc.a-b.example", "xn--bcher-kva.example", "192.0.2.7", "[2001:db8::1]"])
    func hostsGetCertificates(host: String) {
        #expect(LeafName(host) != nil)
    }

    @Test(arguments: [
        "", ".", "a b", "*.example", "a%20.example", "a\0.example", "bücher.example", "[::1", "[192.0.2.7]", "::1",
        "[fe80::1%25eth0]", String(repeating: "a", count: 254),
    ])
    func otherTextsDoNot(host: String) {
        #expect(LeafName(host) == nil)
    }

    @Test(arguments: [("192.0.2.7", true), ("[::1]", true), ("192.0.2.7.example", false), ("a.example.", false)])
    func addressesAreToldFromNames(host: String, isAddress: Bool) throws {
        let name = try #require(LeafName(host))
        #expect(name.isAddress == isAddress)
        #expect(!name.description.hasSuffix(".") && !name.description.contains("["))
    }
}
