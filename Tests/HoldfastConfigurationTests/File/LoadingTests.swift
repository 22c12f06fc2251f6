import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct LoadingTests {
    static let whole = """
        version: 1
        listen: 127.0.0.1:8080
        threads: 2
        mode: automatic
        clients: {trusted: [10.0.0.0/8, "fd00::/8"], cache-status: trusted, request-id: on, trace: forward, allow: [0.0.0.0/0, "::/0"], deny: [203.0.113.0/24]}
        health: {path: /healthz, live: /live, ready: /ready}
        metrics: {listen: 0.0.0.0:9464, public: true, token: metrics.token, tls: {certificates: [{name: m, chain: m.pem, key: m.key}]}}
        forward-proxy: {hosts: [deb.example, {host: "*.debian.example", upgrade: https}], prefix: /via, ports: [8080, 8443], addresses: ["fd00::/8"], allow: [10.0.0.0/8]}
        store: {path: api.store, budget: 10 GiB, memory: 64 MiB, largest-resident-body: 256 KiB, variants-per-key: 32, secure-delete: false, keep-offline-copies: true,
                quotas: {tags: {images: 1 GiB}, origins: {"https://api.example.com": 2 GiB}, each-origin: 1 GiB}}
        limits: {connections: 10000, connections-per-client: 100, request-body: 1 GiB, upload-rate: 1 KiB, in-flight-per-origin: 256, waiting-per-origin: 4096, keyed-content: 1 MiB, request-head: 64 KiB, tunnels: 500, response-memory: 128 MiB, requests: {rate: 600/m, burst: 200, by: prefix}}
        drain: {delay: 7 s}
        timeouts: {drain: 10 s, tunnel: 2 m, soft: 2 s, hard: 60 s}
        breaker: {failures: 3, first-probe: 500 ms, longest-pause: 30 s}
        guard: {empty: true, other-media-type: true, html: true, smallest-json-share: 0.5}
        eager-refresh: 0.8
        failure-throttle: 1 s
        routes:
          - {name: api, host: api.local, path: /v1, origin: "https://api.example.com/v1", preserve-host: false, mode: preferStored, unknown-fields: pass, tags-from: [Surrogate-Key], upgrades: [WebSocket], rewrite: {location: true, bodies: [text/html]}, compress: on, clients: {allow: [10.0.0.0/8, unix]}, limits: {requests: {rate: 5/s}}}
        rules:
          - name: catalogue
            match: {url: "https://api.example.com/catalogue/**", method: [GET, HEAD, POST]}
            freshness: {lifetime: 5 m, default: 1 h, errors: 30 s}
            stale: {while-revalidate: 1 m, unreachable: unlimited, on-error: 1 d, offline: 7 d, ignore: [must-revalidate]}
            mode: preferStored
            ignore: {parameters: [session, "cache_*"], fields: [User-Agent], directives: [no-store, private], members: [user, "messages[*].id"]}
            cookies: {keep: [sid, "wp_*"], forward: all}
            vary: {cookies: {lang: [de, en]}, fields: {X-Device: [phone, desktop], Accept-Language: de}}
            normalize: {sort-parameters: true, drop-parameters: [tracking, foo], accept-encoding: true}
            tags: [catalogue]
            tags-from: [Surrogate-Key, CACHE-tag, xkey, XKey]
            store: {methods: [GET, POST], statuses: [200, 404], largest: 10 MiB, smallest: 1 B, content: json, events: {largest: 1 MiB, ends-with: "[DONE]"}, per: {cookie: sid}, without-cookies: [seen], pin: true, after-uses: 1}
            to-origin: {set: {X-Api-Key: {env: API_KEY}, X-Plain: text}, remove: [Referer]}
            from-origin: {remove: [X-Powered-By], vary: [Git-Protocol, Accept]}
            to-client: {set: {X-Served-By: holdfast}, remove: [Server]}
            guard: off
            eager-refresh: 0.8
            fleet: false
            credentials: none
            timeouts: {soft: 500 ms, hard: 10 s}
            breaker: off
        """

    @Test(arguments: [
        ("127.0.0.1:1", [Configuration.Listener.address("127.0.0.1:1")], "127.0.0.1:1"),
        ("[127.0.0.1:1]", [.address("127.0.0.1:1")], "127.0.0.1:1"),
        (
            "[\"[::1]:0\", 127.0.0.1:0, 127.0.0.1:0]",
            [.address("[::1]:0"), .address("127.0.0.1:0"), .address("127.0.0.1:0")],
            "[[::1]:0, 127.0.0.1:0, 127.0.0.1:0]"
        ),
        (
            "[{address: 127.0.0.1:1}, {unix: h.sock}]", [.address("127.0.0.1:1"), .unix(path: "h.sock", mode: 0o660)],
            "[127.0.0.1:1, {unix: h.sock, mode: 0660}]"
        ),
        (
            "[{unix: /run/h.sock, mode: 0600}]", [.unix(path: "/run/h.sock", mode: 0o600)],
            "[{unix: /run/h.sock, mode: 0600}]"
        ),
        (
            "[{unix: /run/h.sock, mode: \"666\"}]", [.unix(path: "/run/h.sock", mode: 0o666)],
            "[{unix: /run/h.sock, mode: 0666}]"
        ),
        (
            "[{address: 127.0.0.1:1, http2: false}, {unix: h.sock, http2: no}, {address: 127.0.0.1:2, http2: true}]",
            [
                .address("127.0.0.1:1", http2: false), .unix(path: "h.sock", mode: 0o660, http2: false),
                .address("127.0.0.1:2"),
            ],
            "[{address: 127.0.0.1:1, http2: false}, {unix: h.sock, mode: 0660, http2: false}, 127.0.0.1:2]"
        ),
    ])
    func listenIsOneAddressOrAList(_ text: String, _ listeners: [Configuration.Listener], _ shown: String) throws {
        let configuration = try Configuration(yaml: "version: 1\nlisten: \(text)")
        #expect(configuration.listeners == listeners)
        #expect(configuration.effective.settings.first { $0.name == "listen" }?.value == shown)
        // The shown value can be read.
        if !shown.hasPrefix("[[") {
            #expect(try Configuration(yaml: "version: 1\nlisten: \(shown)").listeners == listeners)
        }
    }

    @Test func listenersWithTheProxyProtocol() throws {
        let listen = "[{address: 127.0.0.1:1, proxy-protocol: true}, {unix: h.sock, mode: 0660, proxy-protocol: true}]"
        let yaml = "version: 1\nclients: {trusted: [unix, 127.0.0.1]}\nlisten: \(listen)"
        let configuration = try Configuration(yaml: yaml)
        let expected: [Configuration.Listener] = [
            .address("127.0.0.1:1", proxyProtocol: true), .unix(path: "h.sock", mode: 0o660, proxyProtocol: true),
        ]
        #expect(configuration.listeners == expected)
        #expect(configuration.resolvedListeners == expected)
        #expect(configuration.effective.settings.first { $0.name == "listen" }?.value == listen)
        let plain = "version: 1\nlisten: [{address: 127.0.0.1:1, proxy-protocol: false}]"
        #expect(try Configuration(yaml: plain).listeners == [.address("127.0.0.1:1")])
    }

    @Test func pathsOfListenersAreBesideTheFile() {
        var configuration = Configuration()
        configuration.file = "/etc/holdfast/holdfast.yaml"
        configuration.listeners = [.unix(path: "h.sock", mode: 0o660), .unix(path: "/run/h.sock", mode: 0o660)]
        #expect(
            configuration.resolvedListeners
                == [.unix(path: "/etc/holdfast/h.sock", mode: 0o660), .unix(path: "/run/h.sock", mode: 0o660)]
        )
        #expect(configuration.listen == nil)
        configuration.listen = "127.0.0.1:1"
        #expect(configuration.listeners == [.address("127.0.0.1:1")] && configuration.listen == "127.0.0.1:1")
    }

    @Test func everySettingIsRead() throws {
        let configuration = try Configuration(yaml: Self.whole, environment: ["API_KEY": "hunter2"])
        #expect(configuration.listen == "127.0.0.1:8080" && configuration.mode == .automatic)
        #expect(configuration.store.path == "api.store" && configuration.store.budget == 10 << 30)
        #expect(configuration.store.memory == 64 << 20 && configuration.store.maximumResidentBody == 256 << 10)
        #expect(configuration.store.securelyDeletes == false && configuration.store.keepsOfflineCopies == true)
        #expect(configuration.store.tagQuotas == ["images": 1 << 30])
        #expect(configuration.store.originQuotas == ["https://api.example.com": 2 << 30])
        #expect(configuration.store.eachOriginQuota == 1 << 30)
        #expect(configuration.limits.connections == 10_000 && configuration.limits.requestHead == 64 << 10)
        #expect(configuration.limits.connectionsPerClient == 100 && configuration.limits.requestBody == 1 << 30)
        #expect(configuration.threads == 2 && configuration.drainTimeout == .seconds(10))
        #expect(configuration.drainDelay == .seconds(7))
        #expect(configuration.clients.trusted == [AddressRange("10.0.0.0/8"), AddressRange("fd00::/8")])
        #expect(configuration.clients.cacheStatus == .trusted && configuration.store.variantsPerKey == 32)
        #expect(configuration.clients.identifiesRequests == true && configuration.clients.forwardsTrace == true)
        #expect(configuration.health.live == "/live" && configuration.health.ready == "/ready")
        #expect(configuration.metrics.listen == "0.0.0.0:9464" && configuration.metrics.isPublic)
        #expect(configuration.metrics.token == "metrics.token")
        #expect(configuration.metrics.tls?.certificates == [.init(name: "m", chain: "m.pem", key: "m.key")])
        let proxy = configuration.forwardProxy
        #expect(proxy.hosts == [.init(name: "deb.example"), .init(name: "*.debian.example", upgrades: true)])
        #expect(proxy.prefix == "/via" && proxy.ports == [8080, 8443])
        #expect(proxy.addresses == [AddressRange("fd00::/8")] && proxy.allow == [AddressRange("10.0.0.0/8")])
        let lists = configuration.clients.lists
        #expect(lists.allow.map(\.description) == ["0.0.0.0/0", "::/0"])
        #expect(lists.deny == [AddressRange("203.0.113.0/24")])
        #expect(configuration.limits.requests == Configuration.RequestRate(600, per: .minute, burst: 200, by: .prefix))
        #expect(configuration.routes[0].clients.allow.map(\.description) == ["10.0.0.0/8", "unix"])
        #expect(configuration.routes[0].requestRate == Configuration.RequestRate(5, per: .second))
        #expect(configuration.health.path == "/healthz" && configuration.routes[0].tagsFrom == [.surrogateKey])
        #expect(configuration.routes[0].upgrades == ["websocket"] && configuration.limits.tunnels == 500)
        #expect(configuration.stallTimeouts.tunnel == .seconds(120))
        #expect(configuration.routes[0].rewriting == .init(bodies: ["text/html"]))
        #expect(configuration.routes[0].compresses)
        #expect(configuration.options.softTimeout == .seconds(2) && configuration.options.eagerRefresh == 0.8)
        #expect(configuration.options.goodDataGuard?.minimumJSONShare == 0.5)
        #expect(configuration.options.goodDataGuard?.refusesHTML == true)
        #expect(configuration.routes.map(\.origin) == ["https://api.example.com/v1"])
        let settings = configuration.rules.rules(for: request("https://api.example.com/catalogue/1")).settings
        #expect(settings.overrides.lifetime == 300 && settings.overrides.errorLifetime == 30)
        #expect(settings.tags == ["catalogue"] && settings.tagFields == [.surrogateKey, .cacheTag, .xkey])
        #expect(settings.overrides.maximumStalenessUnreachable == nil && settings.overrides.staleIfError == 86_400)
        #expect(settings.overrides.directivesIgnoredWhenStale == .mustRevalidate)
        #expect(settings.overrides.ignoredDirectives == [.noStore, .private])
        #expect(settings.overrides.ignoredFields == ["user-agent"] && settings.ignoredFields == [.userAgent])
        #expect(settings.cookies == CookieRule(kept: CookieNames(["sid", "wp_*"]), forwardsAll: true))
        #expect(settings.listed.cookies == ["lang": ["de", "en"]])
        #expect(settings.listed.fields[.acceptLanguage] == ["de"] && settings.listed.fields.count == 2)
        #expect(settings.overrides.keptCookies == settings.cookies?.kept)
        #expect(settings.overrides.withoutCookies == CookieNames(["seen"]))
        #expect(settings.overrides.statuses == [200, 404] && settings.methods == [.get, .post])
        #expect(settings.target.droppedParameters == RuleSettings.trackingParameters + ["foo"])
        #expect(settings.target.sortsParameters && settings.normalizesAcceptEncoding && settings.isPinned)
        #expect(settings.ignoredMembers == MemberPaths(["user", "messages[*].id"]) && !settings.admitsCredentials)
        #expect(settings.fromOrigin.removed.map(\.rawName) == ["X-Powered-By"])
        #expect(settings.fromOrigin.vary.map(\.rawName) == ["Git-Protocol", "Accept"])
        #expect(settings.eventStreams == EventStreamRule(largest: 1 << 20, ending: "[DONE]"))
        #expect(settings.keyedContent == .json && settings.principal == .cookie("sid"))
        #expect(settings.requestFields.set[HTTPField.Name("X-Api-Key") ?? .accept] == "hunter2")
        #expect(settings.responseFields.removed == [.server] && settings.goodDataGuard == .off)
        #expect(!settings.isForFleet)
        #expect(settings.softTimeout == .value(.milliseconds(500)) && !settings.usesBreaker)
        let decided = configuration.rules.decisions(
            for: request("https://api.example.com/catalogue/1"),
            contentType: nil
        )
        #expect(decided.count == Setting.all.count - 1, "all but 'bypass'")
    }

    @Test func secretsAppearInNoText() throws {
        let configuration = try Configuration(yaml: Self.whole, environment: ["API_KEY": "hunter2"])
        let request = request("https://api.example.com/catalogue/1")
        var dumped = ""
        dump(configuration, to: &dumped)
        dump(configuration.rules, to: &dumped)
        dump(configuration.rules.rules(for: request).settings, to: &dumped)
        let texts = [
            dumped, "\(configuration)", String(reflecting: configuration), "\(configuration.effective)",
            String(decoding: try JSONEncoder().encode(configuration.effective), as: UTF8.self),
            "\(configuration.rules.decisions(for: request, contentType: nil))",
            "\(configuration.rules.rules(for: request).settings)",
            String(reflecting: configuration.rules.rules(for: request).settings),
        ]
        for text in texts { #expect(!text.contains("hunter2")) }
        #expect(texts[3].contains("(from the environment: API_KEY)"))
    }

    @Test func fieldValuesAreReadFromFilesBesideConfiguration() throws {
        let folder = try TemporaryFolder()
        let secret = URL(fileURLWithPath: folder.path + "/key.txt")
        try Data("s3cret\n".utf8).write(to: secret)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret.path)
        let yaml = """
            version: 1
            rules:
              - to-origin: {set: {X-Api-Key: {file: key.txt}}}
            """
        let file = URL(fileURLWithPath: folder.path + "/holdfast.yaml")
        try Data(yaml.utf8).write(to: file)
        let rules = try Configuration(contentsOf: file.path).rules
        let settings = rules.rules(for: request("https://a.example/")).settings
        #expect(settings.requestFields.set[HTTPField.Name("X-Api-Key") ?? .accept] == "s3cret")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: secret.path)
        let readable = Self.error(contentsOf: file.path)
        #expect(readable.contains("/key.txt' is accessible to other users (mode 0644)") && !readable.contains("s3cret"))
        #expect(Self.error(contentsOf: folder.path) == "\(folder.path): The file is a folder. Name a file.")
        #expect(Self.error(contentsOf: folder.path + "/none") == "\(folder.path)/none: The file does not exist.")
        try Data([0x0A, 0x76, 0xFF, 0xFE]).write(to: file)
        #expect(Self.error(contentsOf: file.path) == "\(file.path):2: The line is not UTF-8. Save the file as UTF-8.")
        try Data(count: (16 << 20) + 1).write(to: file)
        #expect(
            Self.error(contentsOf: file.path) == "\(file.path): The file is too large. The limit is 16777216 bytes."
        )
    }

    /// Mutant: `reload-names-no-secret`.
    @Test func valuesInFilesAreRereadThroughTheLinksOfAVolume() throws {
        let folder = try TemporaryFolder()
        let volume = try SecretVolume(at: folder.path + "/volume")
        try volume.publish(["key": "one"])
        let yaml = """
            version: 1
            routes: [{origin: "https://a.example", mode: preferStored}]
            rules: [{to-origin: {set: {X-Api-Key: {file: key}, X-Other: {env: OTHER}}}}]
            """
        let environment = ["OTHER": "other"]
        func sent(_ configuration: Configuration) -> String? {
            let settings = configuration.rules.rules(for: request("https://a.example/")).settings
            // The rules of routes are kept.
            #expect(settings.mode == .preferStored)
            return settings.requestFields.set[HTTPField.Name("X-Api-Key") ?? .accept]
        }
        let old = try Configuration(yaml: yaml, file: volume.file("holdfast.yaml"), environment: environment)
        #expect(sent(old) == "one")
        #expect(old.rereadingFiles(environment: environment) == nil)
        try volume.publish(["key": "two"])
        let new = try #require(old.rereadingFiles(environment: environment))
        #expect(sent(new) == "two" && sent(old) == "one" && new.rejectedFiles == [])
        #expect(new.rereadingFiles(environment: environment) == nil)
        try volume.publish(["key": "three"], mode: 0o444)
        let kept = try #require(new.rereadingFiles(environment: environment))
        let problem = try #require(kept.rejectedFiles.first)
        #expect(sent(kept) == "two" && kept.rejectedFiles.count == 1)
        #expect(problem.contains("'\(volume.file("key"))'") && problem.contains("mode 0444"))
        #expect(!problem.contains("three"))
        #expect(kept.rereadingFiles(environment: environment) == nil)
        try volume.publish(["key": "three"])
        let corrected = try #require(kept.rereadingFiles(environment: environment))
        #expect(sent(corrected) == "three" && corrected.rejectedFiles == [])
        // Without files there is nothing to read.
        let text = "version: 1\nrules: [{to-origin: {set: {X-Other: {env: OTHER}}}}]"
        let plain = try Configuration(yaml: text, environment: environment)
        #expect(plain.rereadingFiles(environment: [:]) == nil)
    }

    /// Mutants: `unusable-secret-rejects-a-reload`, `unusable-page-rejects-a-reload`.
    @Test func unusableFilesKeepTheirPreviousContent() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/holdfast.yaml"
        func write(_ text: String, to name: String, mode: Int = 0o600) throws {
            try writeFile("\(folder.path)/\(name)", Array(text.utf8))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(folder.path)/\(name)")
        }
        func configure(page: String = "page.html") throws {
            let pages = "error-pages: {offline: \(page), error: page.html}"
            let routes =
                "[{host: b, origin: \"https://b.example\", \(pages)}, {origin: \"https://a.example\", \(pages)}]"
            let rules = [
                "{match: {url: /a}, to-origin: {set: {X-B: {file: key}}}}",
                "{to-origin: {set: {X-Api-Key: {file: key}}}}",
            ]
            let fields = rules.joined(separator: ", ")
            try write("version: 1\nroutes: \(routes)\nrules: [\(fields)]\n", to: "holdfast.yaml")
        }
        func content(_ configuration: Configuration) -> [String?] {
            let settings = configuration.rules.rules(for: request("https://a.example/")).settings
            let page = configuration.routes.first?.errorPages.error?.template.filled { $0.rawValue }
            return [settings.requestFields.set[HTTPField.Name("X-Api-Key") ?? .accept], page]
        }
        try write("one", to: "key")
        try write("first {status}", to: "page.html")
        try configure()
        let old = try Configuration(contentsOf: path, environment: [:])
        try write("two", to: "key", mode: 0o644)
        try write("second {staus}", to: "page.html")
        let kept = try Configuration(contentsOf: path, since: old, environment: [:])
        #expect(content(kept) == ["one", "first status"])
        // Each file is named once, however many rules and routes name it.
        #expect(kept.rejectedFiles.count == 2, "\(kept.rejectedFiles)")
        for words in [
            "/key' is accessible to other users (mode 0644)", "/page.html': The placeholder '{staus}' is unknown.",
        ] {
            #expect(kept.rejectedFiles.contains { $0.contains(folder.path + words) }, "\(kept.rejectedFiles)")
        }
        // A file without previous content is an error, as at startup.
        #expect(throws: ConfigurationError.self) { try Configuration(contentsOf: path, environment: [:]) }
        try configure(page: "other.html")
        #expect(throws: ConfigurationError.self) { try Configuration(contentsOf: path, since: kept, environment: [:]) }
        // The correction of a page is noticed without a reload, too.
        #expect(kept.rereadingFiles(environment: [:]) == nil)
        try write("second {status}", to: "page.html")
        let page = try #require(kept.rereadingFiles(environment: [:]))
        #expect(content(page) == ["one", "second status"] && page.rejectedFiles.count == 1)
        try write("two", to: "key")
        let corrected = try #require(page.rereadingFiles(environment: [:]))
        #expect(content(corrected) == ["two", "second status"] && corrected.rejectedFiles == [])
    }

    private static func error(contentsOf path: String) -> String {
        do {
            _ = try Configuration(contentsOf: path)
            return ""
        } catch { return "\(error)" }
    }

    @Test func jsonIsYAML() throws {
        let json = """
            {"version": 1, "breaker": {"failures": 2}, "rules": [{"name": "a", "match": {"url": "/x", "method": ["GET"]},
              "freshness": {"lifetime": "5 m"}, "breaker": "off", "normalize": {"sort-parameters": true}, "eager-refresh": 0.5}]}
            """
        let configuration = try Configuration(yaml: json)
        let settings = configuration.rules.rules(for: request("https://a.example/x")).settings
        #expect(settings.overrides.lifetime == 300 && !settings.usesBreaker && settings.eagerRefresh == .value(0.5))
        #expect(configuration.options.breaker.failureThreshold == 2)
    }

    @Test func aliasesAreExpanded() throws {
        let rules = try rules(
            """
              - match: {url: "/a"}
                freshness: &life {lifetime: 5 m}
              - match: {url: "https://[::1]:8080/b"}
                freshness: *life
            """
        )
        #expect(rules.rules(for: request("http://[::1]:8080/b")).settings.overrides.lifetime == nil)
        #expect(rules.rules(for: request("https://[::1]:8080/b")).settings.overrides.lifetime == 300)
    }

    @Test func tagsOfRouteAreForItsOriginsTargets() throws {
        let configuration = try Configuration(
            yaml: """
                version: 1
                routes:
                  - {host: a, origin: "https://o.example/base", tags-from: xkey}
                  - {host: b, origin: "https://p.example", preserve-host: true, tags-from: [Cache-Tag]}
                  - {host: c, origin: "https://q.example"}
                rules:
                  - match: {url: "https://o.example/base/news/**"}
                    tags-from: [Surrogate-Key]
                """
        )
        func fields(_ url: String) -> [TagField] { configuration.rules.rules(for: request(url)).settings.tagFields }
        #expect(fields("https://o.example/base/x") == [.xkey] && fields("https://o.example/base") == [.xkey])
        #expect(fields("https://o.example/base/news/1") == [.surrogateKey])
        #expect(fields("https://b/x") == [.cacheTag] && fields("https://b:8443/x") == [.cacheTag])
        #expect(fields("https://o.example/x").isEmpty && fields("https://q.example/x").isEmpty)
        #expect(!configuration.rules.isEmpty)
        let decided = configuration.rules.decisions(for: request("https://o.example/base/x"), contentType: nil)
        #expect(decided.map(\.setting) == ["tags-from"] && decided.map(\.value) == ["[xkey]"])
        #expect(decided.map(\.rule) == ["route 1"] && decided.map(\.line) == [3])
        let settings = configuration.effective.routes.map { $0.settings.first { $0.name == "tags-from" }?.value }
        #expect(settings == ["[xkey]", "[Cache-Tag]", nil])
    }

    @Test func filesOfMetricsAreBesideTheFile() throws {
        let pair = "{name: m, chain: c, key: /k}"
        let yaml = "version: 1\nmetrics: {listen: '127.0.0.1:1', token: t, tls: {certificates: [\(pair)]}}"
        let configuration = try Configuration(yaml: yaml, file: "/etc/h/holdfast.yaml")
        #expect(configuration.metricsToken == "/etc/h/t")
        let tls = try #require(configuration.metricsTLS)
        #expect(tls.certificates == [.init(name: "m", chain: "/etc/h/c", key: "/k")])
        // The control plane serves no HTTP/2.
        #expect(tls.protocols == [.http11])
        let shown = configuration.effective.settings.first { $0.name == "metrics.tls" }
        #expect(shown?.value == "{certificates: [\(pair)]}" && shown?.line == 2)
    }

    @Test func healthPathIsReadAsWritten() throws {
        let longest = "/" + String(repeating: "x", count: 127)
        for (text, path) in [
            ("/healthz", "/healthz"), ("/%68//a;b=1", "/%68//a;b=1"), (longest, longest), ("off", nil),
        ] {
            let configuration = try Configuration(yaml: "version: 1\nhealth: {path: \"\(text)\"}")
            #expect(configuration.health.path == path)
            let shown = configuration.effective.settings.first { $0.name == "health.path" }
            #expect(shown?.value == path ?? "off" && shown?.line == 2)
        }
        #expect(try Configuration(yaml: "version: 1").health.path == nil)
    }

    @Test func firstMatchingRouteIsUsed() throws {
        let configuration = try Configuration(
            yaml: """
                version: 1
                routes:
                  - {name: one, host: "*.example.com", path: /v1, origin: "https://o.example/base", mode: preferStored}
                  - {name: two, host: "api.local:8080", origin: "https://p.example"}
                  - {name: three, path: /v1, origin: "https://q.example", mode: offline, preserve-host: true}
                rules:
                  - match: {url: "https://o.example/base/live/**"}
                    mode: online
                """
        )
        func taken(_ host: String?, _ path: String) -> String {
            configuration.route(for: host, path: path).map { "\($0.route.name ?? "") \($0.rest)" } ?? "none"
        }
        #expect(taken("m.example.com", "/v1/x?y") == "one /x?y")
        #expect(taken("M.Example.com:81", "/v1") == "one ")
        #expect(taken("m.example.com", "/v1?y") == "one ?y")
        #expect(taken("m.example.com", "/v10") == "none")
        #expect(taken("m.example.com", "//%761;a//x;b") == "one //x;b")
        #expect(taken("m.example.com", "/v1%2Fx") == "none")
        #expect(taken("a.m.example.com", "/v1/") == "three /")
        #expect(taken(".example.com", "/v1/") == "three /")
        #expect(taken("api.local:8080", "/any") == "two /any")
        #expect(taken("api.local", "/any") == "none")
        #expect(taken(nil, "/v1/x") == "three /x")
        func mode(_ url: String) -> OfflineMode? { configuration.rules.rules(for: request(url)).settings.mode }
        #expect(mode("https://o.example/base/x") == .preferStored && mode("https://o.example/base") == .preferStored)
        #expect(mode("https://o.example/base/live/x") == .online && mode("http://o.example/basement") == nil)
        #expect(mode("https://whatever.example:99/x") == .offline && mode("http://whatever.example/x") == nil)
    }
}
