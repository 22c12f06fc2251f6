import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct OriginSettingsTests {
    private static let routed = "version: 1\nroutes: [{origin: https://a.example/base}]\norigins:\n"

    private static func origin(_ settings: String, _ url: String = "https://a.example") throws -> Configuration.Origin {
        try Configuration(yaml: "version: 1\norigins: {\"\(url)\": \(settings)}").origins[0]
    }

    @Test func everySettingIsRead() throws {
        let yaml =
            Self.routed + """
                  https://A.example:443/:
                    ca: ca.pem
                    certificate: c.pem
                    key: /k/c.key
                    server-name: Other.example
                    addresses: [10.0.0.7:443, "[::1]:8443"]
                    mirrors: [https://m.example/pub/, "https://n.example:8443"]
                    balance: round-robin
                    health: {path: /healthz, interval: 5 s, timeout: 1 s, expect: 200}
                    timeouts: {connect: 1 s, first-byte: 2 s, send: 3 s, receive: 4 s, idle: 5 s}
                """
        var configuration = try Configuration(yaml: yaml)
        let origin = try #require(configuration.origins.first)
        #expect(origin.url == "https://a.example" && origin.line == 4)
        #expect(origin.tls.serverName == "other.example" && origin.tls.isVerified && !origin.isInsecure)
        #expect(origin.addresses == ["10.0.0.7:443", "[::1]:8443"])
        #expect(origin.mirrors == ["https://m.example/pub", "https://n.example:8443"])
        #expect(origin.balance == .roundRobin)
        #expect(origin.health?.path == "/healthz" && origin.health?.expected == 200...200)
        #expect(origin.health?.interval == .seconds(5) && origin.health?.timeout == .seconds(1))
        let times = origin.timeouts
        let all = [times.connect, times.firstByte, times.send, times.receive, times.idle]
        #expect(all == (1...5).map { Duration.seconds($0) })
        configuration.file = "/etc/holdfast/holdfast.yaml"
        let resolved = configuration.resolvedOrigins[0].tls
        #expect(resolved.roots == "/etc/holdfast/ca.pem" && resolved.certificate == "/etc/holdfast/c.pem")
        #expect(resolved.key == "/k/c.key")
        // The text that is shown can be read again.
        let shown = try #require(configuration.effective.origins?.first)
        var text = Self.routed + "  \(shown.name):\n"
        for setting in shown.settings where !setting.isDefault && !setting.name.contains(".") {
            text += "    \(setting.name): \(try #require(setting.value))\n"
        }
        var again = try #require(try Configuration(yaml: text).origins.first)
        (again.line, again.timeouts) = (origin.line, origin.timeouts)
        #expect(again == origin)
        #expect(shown.settings.first { $0.name == "timeouts.connect" }?.value == "1 s")
    }

    @Test func defaultsAreSafe() throws {
        let origin = try Self.origin("{health: {path: /}}")
        #expect(origin.tls == .init() && origin.tls.isVerified && origin.warnings.isEmpty)
        #expect(origin.health?.interval == .seconds(10) && origin.health?.timeout == .seconds(2))
        #expect(origin.health?.expected == 200...399)
        #expect(try Self.origin("{health: {path: /, interval: 500 ms}}").health?.timeout == .milliseconds(500))
        #expect(try Self.origin("{health: off}").health == nil)
        #expect(origin.balance == .listed)
        #expect(try Self.origin("{balance: listed}").balance == .listed)
        #expect(try Configuration(yaml: "version: 1").effective.origins == nil)
    }

    /// A short time where another server can be tried, unless a time is named.
    @Test func timeToConnectDependsOnTheNumberOfServers() throws {
        var configuration = Configuration()
        var origin = Configuration.Origin(url: "https://a.example")
        #expect(configuration.connectTime(of: origin) == .seconds(10))
        origin.addresses = ["10.0.0.7:1"]
        #expect(configuration.connectTime(of: origin) == .seconds(10))
        origin.mirrors = ["https://m.example"]
        #expect(configuration.connectTime(of: origin) == .seconds(2))
        configuration.originTimeouts.connect = .seconds(7)
        #expect(configuration.connectTime(of: origin) == .seconds(7))
        origin.timeouts.connect = .seconds(1)
        #expect(configuration.connectTime(of: origin) == .seconds(1))
    }

    @Test func protectionIsTakenAwayOnlyWithAWordAndAWarning() throws {
        let origin = try Self.origin("{verify: false, insecure: true, mirrors: [\"http://m.example\"]}")
        #expect(origin.warnings.count == 2)
        #expect(origin.warnings[0].contains("'https://a.example' is not verified"))
        #expect(origin.warnings[1].contains("'http://m.example' of 'https://a.example' does not use TLS"))
        // An http origin has nothing to lose.
        #expect(try Self.origin("{mirrors: [\"http://m.example\"]}", "http://a.example").warnings.isEmpty)
    }

    /// Mutants: 'verify: false' alone is accepted; an http mirror of an https origin is accepted.
    @Test(
        arguments: [
            (
                "verify: false",
                "verify: Without verification, anyone on the network path can read and change the traffic."
            ),
            ("insecure: true", "insecure: It has no effect"),
            ("mirrors: [\"http://m.example\"]", "mirrors: 'http://m.example' does not use TLS, but the origin does"),
            ("{verify: false, insecure: true, ca: ca.pem}", "ca: It has no effect with 'verify: false'."),
            ("certificate: c.pem", "certificate: It needs 'key'"), ("key: c.key", "key: It needs 'certificate'"),
            ("server-name: 10.0.0.7", "server-name: '10.0.0.7' is an IP address"),
            ("server-name: a:1", "server-name: 'a:1' is not a host"),
            ("addresses: [a.example]", "addresses: 'a.example' is not a host and port such as '10.0.0.7:443'."),
            ("addresses: [\"a.example:0\"]", "addresses: 'a.example:0' is not a host and port"),
            ("addresses: [\"a:1\", \"a:1\"]", "addresses: 'a:1' is listed twice."),
            (
                "addresses: [\"a:1\", \"a:2\", \"a:3\", \"a:4\", \"a:5\", \"a:6\", \"a:7\", \"a:8\", \"a:9\"]",
                "There are 9 addresses. The limit is 8."
            ),
            ("mirrors: [m.example]", "mirrors: 'm.example' is not a mirror such as"),
            ("mirrors: [\"https://m.example/?q\"]", "without a query or fragment."),
            ("mirrors: [\"https://m.example/a/%2e%2E/b\"]", "has dot segments. Write the resolved path."),
            ("mirrors: [\"https://a.example/\"]", "mirrors: 'https://a.example' is the origin itself."),
            (
                "mirrors: [\"https://A.example:443/v1\"]",
                "mirrors: 'https://a.example/v1' is on the origin's own server, so it fails together with the origin."
            ),
            ("balance: random", "balance: Expected listed or round-robin, not 'random'."),
            ("balance: round-robin", "balance: It has no effect, because the origin has one server."),
            ("health: {interval: 1 s}", "health: A health check needs 'path'"),
            ("health: {path: x}", "health: 'path': 'x' is not a path such as '/healthz'."),
            ("health: {path: /, interval: 1 ms}", "health: 'interval': '1 ms' is not between 100 ms and 1 d."),
            ("health: {path: /, interval: 1 s, timeout: 2 s}", "'timeout' is longer than 'interval'"),
            ("health: {path: /, expect: 199-300}", "is not a status or a range such as '200-399'"),
            ("health: {path: /, expect: 300-200}", "is not a status or a range such as '200-399'"),
            ("health: {path: /a/..}", "health: 'path': '/a/..' has dot segments."),
            ("health: {paths: /}", "Did you mean 'path'?"),
            ("timeouts: {connect: 0 s}", "timeouts: 'connect': A timeout must be more than 0 s."),
            ("timeouts: {hard: 1 s}", "'hard' is unknown."), ("cas: x", "Did you mean 'ca'?"),
        ] as [(String, String)]
    )
    func findingSaysWhatAndWhere(_ settings: String, _ message: String) {
        let block = settings.hasPrefix("{") ? settings : "{\(settings)}"
        let found = findings(Self.routed + "  https://a.example: \(block)", file: "h.yaml")
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(message) == true, "\(found)")
        #expect(found.first?.hasPrefix("h.yaml:4: origin 'https://a.example'") == true, "\(found)")
    }

    @Test(
        arguments: [
            (
                "https://a.example/base: {}",
                "'https://a.example/base' has a path, which an origin must not have. Write 'https://a.example'."
            ),
            ("https://a.example?q: {}", "is not an origin such as 'https://api.example.com'."),
            ("\"10.0.0.7:80\": {}", "such as 'https://api.example.com'. Write 'http://10.0.0.7:80', or 'https://10"),
            ("a.example: {}", "'a.example' is not an origin"),
            ("https://b.example: {}", "No route leads to it, and it is not a mirror."),
            ("http://a.example: {ca: x}", "No route leads to it"),
        ] as [(String, String)]
    )
    func nameIsAnOrigin(_ line: String, _ message: String) {
        let found = findings(Self.routed + "  \(line)")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    /// A mirror's own entry says that it gets credentials.
    @Test func mirrorIsTrustedWithCredentialsByItsOwnEntry() throws {
        let mirror = Self.routed + "  https://a.example: {mirrors: [https://m.example/pub]}\n"
        let configuration = try Configuration(yaml: mirror + "  https://m.example: {credentials: true}")
        #expect(configuration.origins.map(\.takesCredentials) == [false, true])
        let shown = configuration.effective.origins?.map { origin in
            origin.settings.first { $0.name == "credentials" }?.value
        }
        #expect(shown == ["false", "true"])
        let found = findings(Self.routed + "  https://a.example: {credentials: true}")
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("credentials: It has no effect: no origin lists this one") == true, "\(found)")
        #expect(findings(mirror + "  https://m.example: {credentials: perhaps}").count == 1)
        // Where rules set fields, a note says that mirrors do not get them.
        func notes(_ text: String) throws -> [String] {
            let configuration = try Configuration(yaml: text)
            return configuration.origins.flatMap { configuration.mirrorNotes(about: $0) }
        }
        let rule = "rules: [{to-origin: {set: {X-Upstream: secret}}}]\n"
        let ruled = mirror.replacing("routes:", with: rule + "routes:")
        #expect(try notes(mirror).isEmpty)
        let note = try #require(try notes(ruled).first)
        #expect(note.contains("'credentials: true' for 'https://m.example'") && !note.contains("secret"), "\(note)")
        #expect(try notes(ruled + "  https://m.example: {credentials: true}").isEmpty)
    }

    @Test func originsMayBeMirrorsAndStandThereOnce() {
        let mirror = Self.routed + "  https://a.example: {mirrors: [https://m.example/pub]}\n"
        #expect(findings(mirror + "  https://m.example: {ca: m.pem}") == [])
        for setting in ["addresses: [\"10.0.0.7:443\"]", "mirrors: [https://o.example]", "health: {path: /}"] {
            let found = findings(mirror + "  https://m.example: {\(setting)}")
            #expect(
                found.count == 1 && found[0].contains("this origin is only a mirror, and no route leads to it"),
                "\(found)"
            )
        }
        #expect(
            findings(mirror + "  https://A.example:443: {}").first?.contains("'https://a.example' is listed twice.")
                == true
        )
        #expect(
            findings("version: 1\nroutes: [{origin: http://a.example}]\norigins: {\"http://a.example\": {ca: x}}")
                .first?.contains("Its TLS settings have no effect, because it is an http origin.") == true
        )
        // Only 'verify: false' has no effect there, so its warning would contradict this.
        let http = "version: 1\nroutes: [{origin: http://a.example}]\norigins: {\"http://a.example\": "
        #expect(findings(http + "{verify: false}}").map { $0.contains("TLS settings have no effect") } == [true])
        let preserving =
            "version: 1\nroutes: [{origin: http://a.example, preserve-host: true}]\norigins: {\"http://a.example\": "
        #expect(
            findings(preserving + "{mirrors: [\"http://m.example\"]}}").first?.contains(
                "route 1 preserves the client's host"
            ) == true
        )
        #expect(findings(preserving + "{addresses: [\"10.0.0.7:80\"]}}") == [])
        let addressed =
            "version: 1\nroutes: [{origin: https://10.0.0.7}]\norigins: {\"https://10.0.0.7\": {addresses: [\"10.0.0.8:443\"]"
        #expect(
            findings(addressed + "}}").first?.contains("Set 'server-name' to the host in the certificate") == true
        )
        #expect(findings(addressed + ", server-name: a.example}}") == [])
    }

    @Test func numberIsLimited() {
        let many = (0..<65).map { "  http://a\($0).example: {}\n" }.joined()
        #expect(
            findings("version: 1\norigins:\n" + many).contains { $0.contains("There are 65 origins. The limit is 64.") }
        )
    }

    @Test func limitsOfAllOriginsAreSettings() throws {
        let configuration = try Configuration(yaml: "version: 1\ntimeouts: {connect: 1 s, first-byte: 2 s, idle: 3 s}")
        #expect(configuration.originTimeouts.connect == .seconds(1))
        #expect(
            configuration.originTimeouts.firstByte == .seconds(2) && configuration.originTimeouts.idle == .seconds(3)
        )
        #expect(findings("version: 1\ntimeouts: {connect: 0 s}").count == 1)
    }
}
