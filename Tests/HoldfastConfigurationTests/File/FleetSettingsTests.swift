import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct FleetSettingsTests {
    private static let secret = String(repeating: "s", count: 32)

    private static func configuration(_ fleet: String) throws -> Configuration {
        try Configuration(yaml: "version: 1\nfleet: \(fleet)")
    }

    @Test func everySettingIsReadAndShown() throws {
        let text = """
            {url: "rediss://user@cache.internal:6380", namespace: shop-1, node: "gw:1", secret: {env: FLEET}, \
            previous-secret: {file: old}, next-secret: {env: NEXT}, password: {file: /run/p}, tls: {ca: ca.pem, certificate: c.pem, key: /k.pem, \
            server-name: cache}, share: invalidations, timeout: 20 ms, quorum: 2, retention: {time: 2 h, entries: 5000}}
            """
        var configuration = try Self.configuration(text)
        let fleet = configuration.fleet
        #expect(
            fleet.url == "rediss://user@cache.internal:6380" && fleet.namespace == "shop-1" && fleet.node == "gw:1"
        )
        #expect(fleet.secret == .environment("FLEET") && fleet.previousSecret == .file("old"))
        #expect(fleet.nextSecret == .environment("NEXT"))
        #expect(fleet.password == .file("/run/p") && fleet.timeout == .milliseconds(20) && fleet.quorum == 2)
        #expect(fleet.retentionTime == .seconds(7200) && fleet.retentionEntries == 5000)
        configuration.file = "/etc/holdfast/holdfast.yaml"
        #expect(configuration.fleetTLS.roots == "/etc/holdfast/ca.pem" && configuration.fleetTLS.key == "/k.pem")
        let shown = Dictionary(uniqueKeysWithValues: configuration.effective.settings.map { ($0.name, $0.value) })
        #expect(shown["fleet.secret"] == "(from the environment: FLEET)")
        #expect(shown["fleet.retention"] == "{time: 2 h, entries: 5000}")
    }

    @Test(arguments: ["fleet.share", "fleet.cut-off", "fleet.acknowledge"])
    func settingThatIsNotSetIsShownAsDefault(_ name: String) throws {
        let configuration = try Self.configuration("{url: \"redis://a\", namespace: s, secret: {env: A}}")
        let setting = try #require(configuration.effective.settings.first { $0.name == name })
        #expect(setting.isDefault && setting.value != nil)
    }

    /// Of one server, of sentinels and of a cluster, with TLS and without.
    @Test(arguments: ["", "+sentinel", "+cluster"])
    func everyKindOfServerIsAccepted(_ kind: String) throws {
        for scheme in ["redis", "rediss", "valkey", "valkeys"] {
            let url = "\(scheme)\(kind)://main@a:1,b:2"
            let configuration = try Self.configuration("{url: \"\(url)\", namespace: s, secret: {env: A}}")
            #expect(configuration.fleet.url == url)
        }
    }

    @Test(arguments: [
        ("{namespace: shop}", "It has no effect without 'fleet.url'"),
        ("{url: \"redis://a\", namespace: shop}", "'fleet.secret' is missing"),
        ("{url: \"redis://a\", secret: {env: A}}", "'fleet.namespace' is missing"),
        ("{url: \"http://a\", namespace: s, secret: {env: A}}", "must begin with 'redis://'"),
        ("{url: \"redis://u:hidden@a\", namespace: s, secret: {env: A}}", "'fleet.password: {file: PATH}'"),
        ("{url: \"redis://a\", namespace: s, secret: hidden}", "A secret must not be in this file"),
        ("{url: \"redis://a\", namespace: \"a b\", secret: {env: A}}", "is not a valid name"),
        ("{url: \"redis://a\", namespace: s, secret: {env: A}, tls: {ca: x}}", "It has no effect without TLS"),
        ("{url: \"rediss://a\", namespace: s, secret: {env: A}, tls: {key: x}}", "belong together"),
        ("{url: \"redis://a\", namespace: s, secret: {env: A}, share: all}", "invalidations"),
        (
            "{url: \"redis://a\", namespace: s, secret: {env: A}, share: responses, longest: 25h}",
            "an hour shorter than 'time' in 'fleet.retention'"
        ),
        ("{url: \"redis://a\", namespace: s, secret: {env: A}, largest-body: 1GiB}", "must be from 1 B to 256 MiB"),
        (
            "{url: \"redis://a\", namespace: s, secret: {env: A}, collapse: {lease: 100ms}}",
            "must be from 500 ms to 1 m"
        ),
        (
            "{url: \"redis://a\", namespace: s, secret: {env: A}, share: responses, collapse: {wait: 61s}}",
            "'61s' is too long. The maximum is 1 m."
        ),
        ("{url: \"redis://a\", namespace: s, secret: {env: A}, timeout: 11s}", "The maximum is 10 s."),
        ("{url: \"redis://a\", namespace: s, secret: {env: A}, lease: 61m}", "The maximum is 1 h."),
    ])
    func faultsAreReportedWithoutSecrets(_ text: String, _ message: String) {
        let error = #expect(throws: ConfigurationError.self) { try Self.configuration(text) }
        let words = error?.description ?? ""
        #expect(words.contains(message) && !words.contains("hidden"))
    }

    /// Other settings have an effect once it is mended.
    @Test func refusedAddressIsTheOnlyFinding() {
        let error = #expect(throws: ConfigurationError.self) {
            try Self.configuration("{url: \"http://a\", namespace: s, secret: {env: A}}")
        }
        #expect(error?.findings.map(\.setting) == ["fleet.url"], "\(error?.description ?? "")")
    }

    /// Mutant: `reload-skips-the-secrets-of-a-fleet`.
    @Test func filesOfAFleetAreReread() throws {
        let configuration = try Self.configuration(
            """
            {url: "rediss://a", namespace: s, secret: {file: /a}, next-secret: {file: /b}, password: {file: /c},
             previous-secret: {env: A}, tls: {ca: /d, certificate: /e, key: /f}}
            """
        )
        #expect(configuration.fleet.secretFiles == ["/a", "/b"])
        // The files of TLS are used only together.
        for group in [["/a"], ["/b"], ["/c"], ["/d", "/e", "/f"]] {
            #expect(configuration.rereadFiles.contains(group), "\(group)")
        }
    }

    @Test(
        arguments: [
            (["A": secret], nil), ([:], "no variable 'A'"), (["A": "short-secret"], "has 12 bytes"),
        ] as [([String: String], String?)]
    )
    func secretsAreReadWhenTheyAreNeeded(_ environment: [String: String], _ fault: String?) throws {
        let configuration = try Self.configuration("{url: \"redis://a\", namespace: s, secret: {env: A}}")
        guard let fault else {
            #expect(try configuration.fleetSecrets(environment: environment).secret == Self.secret)
            return
        }
        let error = #expect(throws: ConfigurationError.self) {
            _ = try configuration.fleetSecrets(environment: environment)
        }
        #expect(error?.description.contains(fault) == true && error?.description.contains("short-secret") == false)
    }
}
