import Foundation
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct EffectiveConfigurationTests {
    private static let yaml = """
        version: 1
        store:
          budget: 2 GiB
        breaker: {failures: 3}
        routes:
          - {host: api.local, origin: "https://api.example.com", mode: offline}
        rules:
          - name: prices
            match: {url: /prices/*, method: GET}
            to-origin: {set: {X-Key: {env: KEY}}}
          - tags: [all]
        """

    @Test func textNamesEverySettingAndItsLine() throws {
        let configuration = try Configuration(yaml: Self.yaml, file: "holdfast.yaml", environment: ["KEY": "hunter2"])
        let text = configuration.effective.description
        for line in [
            "holdfast.yaml, version 1", "  listen                         127.0.0.1:8080  (default)",
            "  store.budget                   2 GiB  (line 3)", "  breaker.failures               3  (line 4)",
            "  guard                          off  (default)", "  prices (line 8)",
            "    match.url     [/prices/*]  (line 9)",
            "    match.method  [GET]  (line 9)", "    to-origin.set  {X-Key: (from the environment: KEY)}  (line 10)",
            "  rule 2 (line 11)", "    for everything", "    tags  [all]  (line 11)", "  route 1 (line 6)",
            "    mode                 offline",
        ] { #expect(text.split(separator: "\n").contains { $0 == line }, "\(line) in\n\(text)") }
    }

    /// The shown value can be read again. Mutant: `one-tag-is-shown-as-two`.
    @Test(arguments: [
        ("\"news, sport\"", "[\"news, sport\"]"), ("[news, sport]", "[news, sport]"),
        ("[\"a,b\", c]", "[\"a,b\", c]"), ("[\"[a]\", b]", "[\"[a]\", b]"),
    ])
    func textWithACommaIsShownInQuotes(_ tags: String, _ shown: String) throws {
        func load(_ tags: String) throws -> Configuration {
            try Configuration(yaml: "version: 1\nrules: [{tags: \(tags)}]")
        }
        let configuration = try load(tags)
        let again = try load(shown)
        let value = configuration.effective.rules.first?.settings.first { $0.name == "tags" }?.value
        #expect(value == shown)
        #expect(again.rules.rules.map(\.settings.tags) == configuration.rules.rules.map(\.settings.tags))
    }

    @Test func textWithACommaIsShownInQuotesAlsoNextToAVariable() throws {
        let yaml = "version: 1\nrules: [{tags: [\"a, b\", \"${T}\"]}]"
        let configuration = try Configuration(yaml: yaml, environment: ["T": "c"])
        #expect(configuration.effective.rules.first?.settings.first?.value == "[\"a, b\", ${T}]")
    }

    @Test func delayOfTheEndIsThereWhereReadinessCanBeSeen() throws {
        for (yaml, delay, text) in [
            ("", Duration?.none, "off  (default)"), ("control: {socket: /a}", nil, "off  (default)"),
            ("control: {listen: 127.0.0.1:1}", nil, "5 s"),
            ("control: {listen: 127.0.0.1:1}\ndrain: {delay: off}", .zero, "off  (line 3)"),
            ("control: {socket: off}\nhealth: {path: /up}", nil, "5 s"),
            ("health: {ready: /up}", nil, "5 s"), ("health: {live: /up}", nil, "off  (default)"),
            ("drain: {delay: 0 s}", .zero, "off  (line 2)"), ("drain: {delay: 10 m}", .seconds(600), "10 m  (line 2)"),
            ("control: {socket: off}\ndrain: {delay: 250 ms}", .milliseconds(250), "250 ms  (line 3)"),
        ] {
            let configuration = try Configuration(yaml: "version: 1\n\(yaml)", file: "f")
            #expect(configuration.drainDelay == delay, "\(yaml)")
            let line = configuration.effective.description.split(separator: "\n").first { $0.contains("drain.delay") }
            #expect(line?.hasSuffix(" \(text)") == true, "\(yaml): \(line ?? "")")
        }
    }

    @Test func controlPlaneIsShownWithItsFiles() throws {
        let yaml = """
            version: 1
            control:
              listen: "[::1]:9800"
              tokens: [{name: a, file: a.token, scope: purge}, {name: b, file: /b, scope: read}]
              hosts: [h.test, "[fd00::7]:80"]
            """
        let configuration = try Configuration(yaml: yaml, file: "/etc/h/holdfast.yaml")
        let text = configuration.effective.description
        for part in [
            "[::1]:9800  (line 3)",
            "[{name: a, file: a.token, scope: purge}, {name: b, file: /b, scope: read}]  (line 4)",
            #"[h.test, "[fd00::7]:80"]  (line 5)"#,
        ] { #expect(text.contains(part), "\(text)") }
        #expect(configuration.controlTokens.map(\.file) == ["/etc/h/a.token", "/b"])
        #expect(!configuration.control.isReachableFromOthers)
        for listen in ["127.0.0.1:1", "127.9.9.9:1", "localhost:1", "LOCALHOST:1", "[::1]:1"] {
            var other = configuration
            other.control.listen = listen
            #expect(!other.control.isReachableFromOthers, "\(listen)")
        }
        for listen in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "h.test:1", "127.0.0.1.a.test:1", "[fd00::7]:1"] {
            var other = configuration
            other.control.listen = listen
            #expect(other.control.isReachableFromOthers, "\(listen)")
        }
    }

    @Test func jsonRoundTripKeepsEverything() throws {
        let effective = try Configuration(yaml: Self.yaml, environment: ["KEY": "hunter2"]).effective
        let data = try JSONEncoder().encode(effective)
        #expect(try JSONDecoder().decode(EffectiveConfiguration.self, from: data) == effective)
    }

    @Test func emptyFileHasOnlyDefaults() throws {
        let effective = try Configuration(yaml: "version: 1").effective
        #expect(effective.settings.count == TopSetting.all.count && effective.settings.allSatisfy(\.isDefault))
        #expect(effective.routes.isEmpty && effective.rules.isEmpty)
    }
}
