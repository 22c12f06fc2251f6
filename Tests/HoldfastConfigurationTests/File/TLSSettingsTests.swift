import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct TLSSettingsTests {
    private static let one = "{name: a, chain: a.pem, key: /k/a.key}"

    private static func configuration(_ tls: String) throws -> Configuration {
        try Configuration(yaml: "version: 1\nlisten:\n  - 127.0.0.1:1\n  - address: \"[::1]:2\"\n    tls: \(tls)")
    }

    @Test func everySettingIsRead() throws {
        let text =
            "{certificates: [\(Self.one), {name: b, chain: b.pem, key: b.key}], min: 1.3, alpn: [http/1.1], client: {ca: ca.pem, certificate: optional}}"
        var configuration = try Self.configuration(text)
        let tls = try #require(configuration.listeners[1].tls)
        #expect(configuration.listeners[0].tls == nil)
        #expect(tls.certificates.map(\.name) == ["a", "b"] && tls.minimum == .tls13)
        #expect(tls.protocols == [.http11])
        #expect(tls.client == .init(roots: "ca.pem", demand: .optional))
        // The value that is shown can be read, as YAML and as part of JSON.
        let shown = try #require(configuration.effective.settings.first { $0.name == "listen" }?.value)
        #expect(try Configuration(yaml: "version: 1\nlisten: \(shown)").listeners == configuration.listeners)
        configuration.file = "/etc/holdfast/holdfast.yaml"
        let resolved = try #require(configuration.resolvedListeners[1].tls)
        #expect(resolved.certificates[0].chain == "/etc/holdfast/a.pem" && resolved.certificates[0].key == "/k/a.key")
        #expect(resolved.client?.roots == "/etc/holdfast/ca.pem")
    }

    @Test func defaultsAreSafe() throws {
        let tls = try #require(
            try Self.configuration("{certificates: [\(Self.one)], client: {ca: c}}").listeners[1].tls
        )
        #expect(tls.minimum == .tls12 && tls.protocols == [.http2, .http11] && tls.client?.demand == .required)
    }

    @Test(
        arguments: [
            ("", "", true), ("", "\n    http2: false", false), (", alpn: [http/1.1]", "\n    http2: false", false),
            (", alpn: [h2, http/1.1]", "\n    http2: true", true),
            (", alpn: [h2, http/1.1]", "\n    http2: false", nil),
            (", alpn: [http/1.1]", "\n    http2: true", nil),
        ] as [(String, String, Bool?)]
    )
    func http2AndALPNMayNotContradict(_ alpn: String, _ http2: String, _ isOn: Bool?) throws {
        let text = "{certificates: [\(Self.one)]\(alpn)}\(http2)"
        guard let isOn else {
            let error = #expect(throws: ConfigurationError.self) { try Self.configuration(text) }
            #expect(error?.description.contains("'http2' and 'alpn' contradict each other") == true)
            return
        }
        let configuration = try Self.configuration(text)
        let listener = configuration.listeners[1]
        #expect((listener.isHTTP2 && listener.tls?.protocols.contains(.http2) == true) == isOn)
        let shown = try #require(configuration.effective.settings.first { $0.name == "listen" }?.value)
        #expect(try Configuration(yaml: "version: 1\nlisten: \(shown)").listeners == configuration.listeners)
    }

    @Test func jsonIsReadToo() throws {
        let text = """
            {"version": 1, "listen": [{"unix": "h.sock", "tls":
             {"certificates": [{"name": "a", "chain": "a.pem", "key": "a.key"}], "min": "1.2"}}]}
            """
        let configuration = try Configuration(yaml: text)
        #expect(configuration.listeners[0].tls?.certificates.count == 1)
    }

    @Test(arguments: [
        ("{}", "TLS needs 'certificates': a list of '{name, chain, key}'."),
        ("a.pem", "Expected TLS settings (certificates, min, alpn, client), not 'a.pem'."),
        ("{certificates: []}", "Expected a list of '{name, chain, key}', not a list."),
        ("{certificates: [{name: a, chain: b}]}", "A certificate needs 'key'."),
        ("{certificates: [{key: a}]}", "A certificate needs 'name' and 'chain'."),
        (
            "{certificates: [{name: a, chain: b, key: c, password: d}]}",
            "'password' is unknown. Known names: 'name', 'chain', 'key'."
        ),
        ("{certificates: [\(one), \(one)]}", "Two certificates are named 'a'."),
        ("{certificates: [{name: a b, chain: b, key: c}]}", "'a b' is not a certificate name"),
        ("{certificates: [\(one)], min: 1.1}", "Expected 1.2 or 1.3, not '1.1'."),
        (
            "{certificates: [\(one)], ocsp: on}",
            "'ocsp' is unknown. Known names: 'certificates', 'min', 'alpn', 'client'."
        ),
        ("{certificates: [\(one)], alpn: [h2]}", "'alpn' needs 'http/1.1'"),
        ("{certificates: [\(one)], alpn: h2}", "Expected a list such as '[h2, http/1.1]', not 'h2'."),
        ("{certificates: [\(one)], alpn: [h2, h2, http/1.1]}", "'h2' is listed twice."),
        ("{certificates: [\(one)], alpn: [h3, http/1.1]}", "'alpn': Expected h2 or http/1.1, not 'h3'."),
        (
            "{chain: a.pem, key: a.key}",
            "'chain' belongs in 'certificates'. Write 'certificates: [{name: main, chain: chain.pem, key: key.pem}]'."
        ),
        ("{certificates: [\(one)], client: {certificate: required}}", "Client certificates need 'ca'"),
        (
            "{certificates: [\(one)], client: {ca: c, certificate: maybe}}",
            "Expected required or optional, not 'maybe'."
        ),
        (
            "{certificates: [\((0...64).map { "{name: n\($0), chain: c, key: k}" }.joined(separator: ", "))]}",
            "There are 65 certificates. The limit is 64."
        ),
    ])
    func faultsNameTheirLine(_ tls: String, _ message: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.configuration(tls) }
        #expect(error?.findings.count == 1)
        #expect(error?.findings.first.map { "\($0)" }?.contains(message) == true, "\(error?.description ?? "")")
        #expect(error?.findings.first?.line == 5)
    }

    @Test func aNameStandsForOnePairOfFiles() {
        let text = "version: 1\nlisten:\n  - {address: 127.0.0.1:1, tls: {certificates: [\(Self.one)]}}\n"
        let same = text + "  - {address: 127.0.0.1:2, tls: {certificates: [\(Self.one)]}}"
        #expect(throws: Never.self) { try Configuration(yaml: same) }
        let other = text + "  - {address: 127.0.0.1:2, tls: {certificates: [{name: a, chain: b, key: c}]}}"
        let error = #expect(throws: ConfigurationError.self) { try Configuration(yaml: other) }
        #expect(error?.findings.first?.line == 4)
    }
}
