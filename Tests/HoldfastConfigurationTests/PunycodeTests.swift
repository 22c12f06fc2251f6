import Testing

@testable import HoldfastConfiguration

/// RFC 3492 §7.1 has the samples.
@Suite(.timeLimit(.minutes(20))) struct PunycodeTests {
    @Test(
        arguments: [
            ("bücher.example", "xn--bcher-kva.example"), ("*.BÜCHER.example", "*.xn--bcher-kva.example"),
            // A letter and its mark as two scalars.
            ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("日本.jp", "xn--wgv71a.jp"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"), ("a.example", nil), ("", nil),
            (String(repeating: "ü", count: 127), nil),
        ] as [(String, String?)]
    )
    func hostsAreEncoded(_ host: String, _ expected: String?) { #expect(Punycode.name(host) == expected) }

    /// No arithmetic overflows.
    @Test(arguments: [1, 62, 63]) func extremeHostsAreEncoded(_ count: Int) {
        let mixed = String(repeating: "a", count: 249 - 4 * count / 63) + "\u{10FFFF}"
        for host in [String(repeating: "\u{10FFFF}", count: count), mixed] {
            #expect(Punycode.name(host)?.hasPrefix("xn--") == true)
        }
    }
}
