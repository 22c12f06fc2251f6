import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastGateway
import Testing

/// Gateway configuration from a file.
@Suite(.timeLimit(.minutes(20)))
struct ConfigurationTests {
    @Test func takesAddressRoutesAndLimits() throws {
        let file = try HoldfastConfiguration.Configuration(
            yaml: """
                version: 1
                listen: "[::1]:8123"
                clients: {request-id: on}
                limits: {connections: 7, keyed-content: 2 KiB, request-head: 4 KiB}
                routes:
                  - {name: api, host: api.local, path: /v1, origin: "https://api.example.com/v2"}
                  - {origin: "http://127.0.0.1:9", preserve-host: true}
                """
        )
        let gateway = try GatewayConfiguration(file)
        #expect(gateway.host == "::1" && gateway.port == 8123)
        #expect(gateway.identifiesRequests && gateway.maximumConnections == 7 && gateway.keyedContentLimit == 2 << 10)
        #expect(gateway.messageLimits.fieldBlock == 4 << 10 && gateway.messageLimits.startLine == 4 << 10)
        let routes = gateway.routes.routes
        #expect(routes.map(\.name) == ["api", nil] && routes.map(\.host) == ["api.local", nil])
        #expect(routes.map(\.path) == ["/v1", "/"] && routes.map(\.preservesHost) == [false, true])
        #expect(routes.map(\.origin.authority) == ["api.example.com", "127.0.0.1:9"])
    }

    @Test func missingSettingsKeepTheirDefaults() throws {
        let gateway = try GatewayConfiguration(
            HoldfastConfiguration.Configuration(yaml: "version: 1\nroutes: [{origin: \"http://a.example\"}]")
        )
        #expect(gateway.host == "127.0.0.1" && gateway.port == 8080 && gateway.maximumConnections == 10_000)
        #expect(
            !gateway.identifiesRequests && gateway.messageLimits == MessageLimits()
                && gateway.keyedContentLimit == 1 << 20
        )
    }

    @Test func argumentsOverrideTheFile() throws {
        let file = try HoldfastConfiguration.Configuration(yaml: "version: 1\nlisten: 127.0.0.1:9")
        let gateway = try GatewayConfiguration(
            file,
            routes: GatewayRoutes(origin: GatewayOrigin("http://b.example")),
            listen: ListenAddress("0.0.0.0:1")
        )
        #expect(gateway.host == "0.0.0.0" && gateway.port == 1)
        #expect(gateway.routes.routes.map(\.origin.host) == ["b.example"])
    }

    /// Mutant: `default-address-of-listen-is-not-compared`.
    @Test(
        arguments: [
            (
                "metrics: {listen: 127.0.0.1:8080}", nil,
                "metrics.listen: '127.0.0.1:8080' is also in 'listen' by default."
            ),
            (
                "control: {listen: 127.0.0.1:8080}", nil,
                "control.listen: '127.0.0.1:8080' is also in 'listen' by default."
            ),
            (
                "metrics: {listen: '0.0.0.0:8080', public: true}", nil,
                "metrics.listen: '0.0.0.0:8080' is also used by '127.0.0.1:8080' in 'listen' by default."
            ),
            ("metrics: {listen: 127.0.0.1:8080}", "127.0.0.1:9", nil), ("metrics: {listen: 127.0.0.1:8081}", nil, nil),
            (
                "metrics: {listen: 127.0.0.1:9}", "0.0.0.0:9",
                "metrics.listen: '127.0.0.1:9' is also used by '0.0.0.0:9' in the listeners that replace 'listen'."
            ),
        ] as [(String, String?, String?)]
    )
    func addressOfAListenerOutsideTheFileIsAFinding(_ setting: String, _ listen: String?, _ words: String?) throws {
        let yaml = "version: 1\n\(setting)\nroutes: [{origin: \"http://a.example\"}]"
        let file = try HoldfastConfiguration.Configuration(yaml: yaml)
        let address = try listen.map { try ListenAddress($0) }
        var found: [String] = []
        do {
            _ = try GatewayConfiguration(file, listen: address)
        } catch let error as ConfigurationError {
            found = error.findings.map(\.description)
        }
        #expect(found == (words.map { ["line 2: \($0) Choose another port."] } ?? []))
    }

    @Test func takesAListOfListeners() throws {
        var file = try HoldfastConfiguration.Configuration(
            yaml: "version: 1\nlisten: [{unix: h.sock, mode: 0600}, 127.0.0.1:9]"
        )
        file.file = "/etc/holdfast/holdfast.yaml"
        let routes = try GatewayRoutes(origin: GatewayOrigin("http://b.example"))
        var gateway = try GatewayConfiguration(file, routes: routes)
        #expect(
            gateway.listeners == [
                .unix(path: "/etc/holdfast/h.sock", mode: 0o600), .address(ListenAddress(host: "127.0.0.1", port: 9)),
            ]
        )
        #expect(gateway.host == "127.0.0.1" && gateway.port == 9)
        gateway.port = 10
        gateway.host = "::1"
        #expect(gateway.listeners.count == 2 && "\(gateway.listeners[1])" == "[::1]:10")
        gateway.listeners.removeLast()
        #expect(gateway.host == "" && gateway.port == 0)
        gateway.host = "127.0.0.1"
        #expect("\(gateway.listeners[0])" == "127.0.0.1:0" && gateway.listeners.count == 2)
        #expect(throws: InvalidSetting.self) { try ListenAddress("/run/h.sock:80") }
    }

    @Test func tooLongPathOfASocketIsAFinding() throws {
        var file = HoldfastConfiguration.Configuration()
        file.listeners = [.unix(path: "/run/" + String(repeating: "a", count: 200), mode: 0o660)]
        let routes = try GatewayRoutes(origin: GatewayOrigin("http://b.example"))
        let error = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(file, routes: routes) }
        #expect(error?.findings.map(\.setting) == ["listen"])
        #expect(error?.description.contains("needs 205 bytes; the system's limit is") == true)
    }

    @Test func unusableRoutesAreFindings() throws {
        let file = HoldfastConfiguration.Configuration()
        let none = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(file) }
        #expect(none?.findings.map(\.setting) == ["routes"])
        var wrong = HoldfastConfiguration.Configuration()
        wrong.file = "a.yaml"
        wrong.routes = [
            .init(name: "x", host: "a b", origin: "http://a.example", line: 3),
            .init(origin: "ftp://a.example", line: 4),
        ]
        let error = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(wrong) }
        #expect(error?.findings.map(\.subject) == ["route 'x'", "route 2"])
        #expect(error?.description.contains("a.yaml:4: route 2: origin: ") == true)
        wrong.routes = [
            .init(path: "/x", origin: "http://a.example", preservesHost: true),
            .init(path: "/y", origin: "http://b.example", preservesHost: true, line: 5),
        ]
        let twins = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(wrong) }
        #expect(twins?.findings.map(\.line) == [5])
    }

    /// `holdfast explain` uses the file's routes, requests use the gateway's.
    @Test func fileAndGatewayChooseTheSameRoute() throws {
        let routes: [HoldfastConfiguration.Configuration.Route] = [
            .init(name: "a", host: "api.local", path: "/v1", origin: "http://one.example/api"),
            .init(name: "b", host: "API.local:8080", origin: "http://two.example"),
            .init(name: "c", host: "*.wild.local", path: "/a/b", origin: "http://three.example"),
            .init(name: "d", host: "[::1]", origin: "http://four.example"),
            .init(name: "e", host: "*.wild.local:81", origin: "http://five.example"),
            .init(name: "f", host: "plain.local:80", origin: "http://six.example"),
            .init(name: "g", path: "/shared", origin: "http://seven.example"),
        ]
        var file = HoldfastConfiguration.Configuration()
        file.routes = routes
        let gateway = try GatewayRoutes(routes)
        for host in [
            "api.local", "API.Local:8080", "api.local:81", "x.wild.local", "x.wild.local:81", "x.y.wild.local",
            "wild.local",
            ".wild.local", "[::1]", "[::1]:9", "plain.local", "plain.local:80", "plain.local:81", "else", nil,
        ] {
            for path in [
                "/", "/v1", "/v1?x", "/v10", "/%761/a", "//v1;x//a", "/v1%2f", "/a/b/c?d", "/a/b", "/shared/x",
                "/shared?x",
            ] {
                let told = file.route(for: host, path: path)
                let taken = gateway.route(authority: host, target: path)
                #expect(told?.route.name == taken?.route.name, "\(host ?? "none") \(path)")
            }
        }
    }

    @Test func ignoredMembersNeedRequestsWithoutCredentials() throws {
        let yaml = "version: 1\nroutes: [{name: a, origin: \"http://a.example\"}]\nrules:\n"
        let rule = "- {store: {content: json}, ignore: {members: [user]}"
        let file = try HoldfastConfiguration.Configuration(yaml: yaml + rule + "}")
        let error = #expect(throws: ConfigurationError.self) { try GatewayConfiguration(file) }
        #expect(
            error.map { "\($0)" }?.contains(
                "ignore.members: It needs 'credentials: none' in the same rule: an ignored member could name a user."
            ) == true
        )
        _ = try GatewayConfiguration(file, routes: nil, listeners: [], isForJob: true)
        _ = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml + rule + ", credentials: none}"))
    }

    /// The listeners of a job are not those of its file.
    @Test func jobStatesHTTPSIfAllClientsOfItsFileUseTLS() throws {
        let secure = "{address: 127.0.0.1:1, tls: {certificates: [{name: a, chain: /a.pem, key: /a.key}]}}"
        let redirect = #"{match: {scheme: http}, respond: {status: 308, location: "https://a.example{path}"}}, "#
        let own = GatewayListener.address(ListenAddress(host: "127.0.0.1", port: 0))
        for (listeners, routes, more, isExpected) in [
            (secure, "", "", true), (secure + ", 127.0.0.1:2", redirect, "", true),
            (secure + ", 127.0.0.1:2", "", "", false), ("127.0.0.1:2", "", "", false),
            (secure, "", "\nclients: {trusted: [192.0.2.1]}", false),
        ] as [(String, String, String, Bool)] {
            let yaml =
                "version: 1\nlisten: [\(listeners)]\nroutes: [\(routes){origin: \"http://a.example\"}]\(more)"
            let file = try HoldfastConfiguration.Configuration(yaml: yaml)
            let serving = try GatewayConfiguration(file)
            #expect(serving.clientsUseTLS(on: serving.listeners) == isExpected && !serving.statesHTTPS, "\(yaml)")
            #expect(!serving.clientsUseTLS(on: [own]))
            let job = try GatewayConfiguration(file, routes: nil, listeners: [own], isForJob: true)
            #expect(job.statesHTTPS == isExpected, "\(yaml)")
            let routes = GatewayRoutes(origin: try GatewayOrigin("http://b.example"))
            let other = try GatewayConfiguration(file, routes: routes, listeners: [own], isForJob: true)
            #expect(!other.statesHTTPS, "the file's clients do not use these routes")
        }
    }

    @Test(arguments: [true, false]) func sameRuleFromFileOrSwiftMakesSecondRequestAHit(isFromFile: Bool) async throws {
        var settings = RuleSettings()
        settings.freshness.lifetime = .seconds(300)
        let rules =
            try isFromFile
            ? HoldfastConfiguration.Configuration(
                yaml: "version: 1\nrules: [{match: {url: /a}, freshness: {lifetime: 5 m}}]"
            ).rules : RuleSet([Rule(matching: .init(urls: ["/a"]), settings: settings)])
        try await RawOrigin.with([.ok("one"), .ok("two"), .ok("three")]) { origin in
            try await RunningGateway.with(origin: origin.url, rules: rules) { gateway in
                _ = try await gateway.get("/a")
                let second = try await gateway.get("/a")
                #expect(second.text == "one" && second["Cache-Status"] == "holdfast; hit; ttl=300")
                _ = try await gateway.get("/b")
                let other = try await gateway.get("/b")
                #expect(other.text == "three")
            }
        }
    }
}
