import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Valid settings that probably do not do what their author meant.
@Suite(.timeLimit(.minutes(20))) struct CheckWarningTests {
    private static func warnings(_ yaml: String, _ environment: [String: String] = [:]) throws -> [String] {
        try Configuration(yaml: "version: 1\n" + yaml, file: "f", environment: environment).checkWarnings
            .map { "\($0)" }
    }

    @Test(
        arguments: [
            (
                "http://a.example/item/.*?x",
                "'.*' is not a regular expression here: it matches only names that begin with a dot. Write 'http://a.example/item/**?x'."
            ),
            (
                "/.+/x",
                "'.+' is not a regular expression here: it matches only these characters. Write '/**/x'."
            ),
            (
                "/item/[0-9]*",
                "'[0-9]' matches only itself: patterns are not regular expressions. '*' matches any bytes within a segment, '**' any bytes."
            ),
            (
                "/item/[0-9]+/x",
                "'[0-9]+' matches only itself: patterns are not regular expressions. '*' matches any bytes within a segment, '**' any bytes."
            ),
            (
                "/item/[a-z",
                "'[a-z' matches only itself: patterns are not regular expressions. '*' matches any bytes within a segment, '**' any bytes."
            ),
            (
                "/item$",
                "'$' matches only itself: patterns are not regular expressions. '*' matches any bytes within a segment, '**' any bytes."
            ),
            ("/a****b?c", "Three stars mean the same as two. Write '/a**b?c'."), ("/.well-known/**", nil),
            ("/**/.*rc", nil), ("/.**", nil), ("/a.*", nil), ("/a?b[0-9]", nil), ("/a**/*b", nil),
        ] as [(String, String?)]
    )
    func regularExpressionsAreReported(_ url: String, _ message: String?) throws {
        let warnings = try Self.warnings("rules: [{match: {url: \"\(url)\"}, bypass: true}]")
        #expect(warnings == (message.map { ["f:2: rule 1: match.url: \($0)"] } ?? []))
    }

    @Test(
        arguments: [
            ("/v1/admin/", "/v1/admin/**"), ("http://a.example/a/", "http://a.example/a/**"),
            ("https://*.example/a/", nil),
            ("/", nil), ("http://a.example/", nil), ("/a/?x=1", nil), ("/a", nil), ("/a*/", nil), ("/a/**", nil),
        ] as [(String, String?)]
    )
    func patternsThatOnlyLookLikeAFolderAreReported(_ url: String, _ better: String?) throws {
        let warnings = try Self.warnings("rules: [{match: {url: \"\(url)\"}, bypass: true}]")
        let message = better.map {
            "f:2: rule 1: match.url: '\(url)' matches only this URL, and no URL below it. For all of them, write '\($0)'."
        }
        #expect(warnings == (message.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            ("\"news, sport\"", "'news, sport'", "[news, sport]"), ("[\"a,b,\", c]", "'a,b,'", "[a, b, c]"),
            ("[news, sport]", nil, ""), ("news", nil, ""),
        ] as [(String, String?, String)]
    )
    func severalTagsInOneTextAreReported(_ tags: String, _ tag: String?, _ better: String) throws {
        let warnings = try Self.warnings("rules: [{tags: \(tags)}]")
        let message = tag.map {
            "f:2: rule 1: tags: \($0) is one tag with a comma. For several tags, write '\(better)'."
        }
        #expect(warnings == (message.map { [$0] } ?? []))
    }

    /// Mutant: `parameter-as-an-expression-passes`.
    @Test(
        arguments: [("utm_.*", "utm_.", "utm_*"), (".*", ".", "*"), ("utm_*", nil, ""), ("a.b", nil, "")]
            as [(String, String?, String)]
    )
    func parametersAsRegularExpressionsAreReported(_ name: String, _ start: String?, _ better: String) throws {
        let warnings = try Self.warnings("rules: [{ignore: {parameters: [\"\(name)\"]}}]")
        let message = start.map {
            "f:2: rule 1: ignore.parameters: '\(name)' is not a regular expression: it means all names that begin with '\($0)'. Write '\(better)'."
        }
        #expect(warnings == (message.map { [$0] } ?? []))
    }

    @Test(arguments: ["to-client", "to-origin"])
    func fieldsThatAreSetAndRemovedAreReported(_ group: String) throws {
        func warnings(_ name: String) throws -> [String] {
            try Self.warnings("rules: [{\(group): {set: {X-A: \"1\"}, remove: [\(name)]}}]")
        }
        let message = "f:2: rule 1: \(group).remove: 'X-A' is also in '\(group).set'. Remove it from one of them."
        #expect(try warnings("X-A") == [message])
        #expect(try warnings("X-B").isEmpty)
    }

    @Test(
        arguments: [
            ("https://a.example:80", "http"), ("http://a.example:443", "https"), ("https://a.example", nil),
            ("https://a.example:8080", nil),
        ] as [(String, String?)]
    )
    func portsOfTheOtherSchemeAreReported(_ origin: String, _ other: String?) throws {
        let warnings = try Self.warnings("routes: [{origin: \"\(origin)\"}]")
        let message = other.map {
            "f:2: route 1: origin: '\(origin)' has the port of '\($0)'. Correct the scheme or the port."
        }
        #expect(warnings == (message.map { [$0] } ?? []))
    }

    @Test(arguments: [("65 MiB", true), ("64 MiB", false)])
    func memoryAboveTheBudgetIsReported(_ memory: String, _ isReported: Bool) throws {
        let warnings = try Self.warnings("store: {budget: 64 MiB, memory: \(memory)}")
        let message =
            "f:2: store.memory: It is more than 'store.budget', so a part of it is never used. Lower it."
        #expect(warnings == (isReported ? [message] : []))
    }

    /// Mutant: `timeouts-of-rules-are-overlooked`.
    @Test(
        arguments: [
            ("timeouts: {first-byte: 5 m}", "timeouts.first-byte", "1 m by default"),
            ("timeouts: {connect: 61 s}", "timeouts.connect", "1 m by default"),
            ("timeouts: {connect: 5 s, hard: 4 s}", "timeouts.connect", "line 2"),
            (
                "origins: {\"https://a.example\": {timeouts: {first-byte: 61 s}}}",
                "origin 'https://a.example': timeouts.first-byte", "1 m by default"
            ),
            ("timeouts: {first-byte: 60 s}", nil, ""), ("timeouts: {first-byte: 5 m, hard: off}", nil, ""),
            ("timeouts: {first-byte: 5 m}\nrules: [{match: {url: /a}, timeouts: {hard: 5 m}}]", nil, ""),
            ("timeouts: {first-byte: 5 m}\nrules: [{match: {url: /a}, timeouts: {hard: off}}]", nil, ""),
        ] as [(String, String?, String)]
    )
    func timeoutsAboveTheHardOneAreReported(_ settings: String, _ setting: String?, _ place: String) throws {
        let message = setting.map {
            "f:2: \($0): It is more than 'timeouts.hard' (\(place)), which ends the request first. Raise 'timeouts.hard' too."
        }
        let routes = "routes: [{origin: \"https://a.example\"}]"
        #expect(try Self.warnings("\(settings)\n\(routes)") == (message.map { [$0] } ?? []))
    }

    @Test(arguments: [
        ("store: {per: {field: Authorization}}, credentials: none", true),
        ("store: {per: {cookie: sid}}, credentials: none", true), ("store: {per: {cookie: sid}}", false),
        ("credentials: none", false),
    ])
    func principalsWithoutCredentialsAreReported(_ settings: String, _ isReported: Bool) throws {
        let message =
            "f:2: rule 1: store.per: It has no effect with 'credentials: none': every request with this field or cookie bypasses the store. Remove one of them."
        #expect(try Self.warnings("rules: [{\(settings)}]") == (isReported ? [message] : []))
    }

    /// Mutant: `quota-of-an-unknown-tag-passes`.
    @Test(
        arguments: [
            ("rules: [{tags: [thumbnails]}]", " Did you mean 'thumbnails'?"), ("rules: [{tags: [news]}]", ""), ("", ""),
            ("rules: [{match: {url: /a}, tags: [thumbnials]}, {tags: [news]}]", nil),
            ("rules: [{tags-from: [xkey]}]", nil),
        ] as [(String, String?)]
    )
    func quotasForTagsThatNothingSetsAreReported(_ rules: String, _ advice: String?) throws {
        let store = "store: {quotas: {tags: {thumbnials: 200 MiB}}}\n"
        let message = advice.map {
            "f:2: store.quotas: The quota of 'thumbnials' limits nothing, because no rule sets this tag ('tags'), and no origin does ('tags-from').\($0)"
        }
        let routes = "routes: [{origin: \"http://a\"}]\n"
        #expect(try Self.warnings(store + routes + rules) == (message.map { [$0] } ?? []))
        // Origins name tags, or the application does.
        let tagging = "routes: [{origin: \"http://a\", tags-from: [xkey]}]\n"
        #expect(try Self.warnings(store + tagging + rules).isEmpty)
        #expect(try Self.warnings(store + rules).isEmpty)
    }

    /// Mutants: `address-of-a-network-passes`.
    @Test(
        arguments: [
            ("10.0.0.0", "10.0.0.0/8"), ("10.1.0.0", "10.1.0.0/16"), ("192.0.2.0", "192.0.2.0/24"),
            ("0.0.0.0", "0.0.0.0/0"), ("fd00::", "fd00::/16"), ("2001:db8::", "2001:db8::/32"), ("10.0.0.0/8", nil),
            ("10.0.0.0/32", nil), ("10.0.0.1", nil), ("fd00::1", nil), ("2001:db8:1:2:3::", nil), ("unix", nil),
        ] as [(String, String?)]
    )
    func addressesOfNetworksAreReported(_ text: String, _ network: String?) throws {
        func expected(_ subject: String) -> [String] {
            network.map {
                ["f:2: \(subject): '\(text)' is one address. For a network, write its prefix length, such as '\($0)'."]
            } ?? []
        }
        for list in ["trusted", "purgers", "allow", "deny"] {
            #expect(try Self.warnings("clients: {\(list): [\"\(text)\", 10.9.9.9]}") == expected("clients.\(list)"))
        }
        for list in ["allow", "deny"] {
            let route = "routes: [{origin: \"http://a\", clients: {\(list): [\"\(text)\", 10.9.9.9]}}]"
            #expect(try Self.warnings(route) == expected("route 1: clients.\(list)"))
        }
    }

    /// Mutant: `empty-variable-in-a-path-passes`.
    @Test(
        arguments: [
            (
                "routes: [{name: a, path: \"/${E}\", origin: \"http://a\"}]",
                "route 'a': path: '/${E}' has an empty segment"
            ),
            (
                "routes: [{path: \"/x/${E}${F}/y\", origin: \"http://a\"}]",
                "route 1: path: '/x/${E}${F}/y' has an empty segment"
            ),
            ("store: {path: \"${E}/s\"}", "store.path: '${E}/s' has an empty segment"),
            (
                "rules: [{match: {url: [/b, \"/a/${E}\"]}, bypass: true}]",
                "rule 1: match.url: '/a/${E}' has an empty segment"
            ),
            ("store: {path: \"s${E}\"}", nil), ("store: {path: \"a/${E}${A}/s\"}", nil),
            ("store: {path: \"a//${A}/s\"}", nil), ("store: {path: \"$${E}/s\"}", nil),
        ] as [(String, String?)]
    )
    func partsThatAVariableLeavesEmptyAreReported(_ yaml: String, _ message: String?) throws {
        let environment = ["E": "", "F": "", "A": "hushed"]
        let configuration = try Configuration(yaml: "version: 1\n" + yaml, file: "f", environment: environment)
        // Hiding values again changes nothing.
        let warnings = configuration.checkWarnings.map { "\(configuration.references.hide(in: $0))" }
            .filter { $0.contains("the variable") }
        let expected = message.map { "f:2: \($0), because the variable 'E' is empty. Set it to a value." }
        #expect(warnings == (expected.map { [$0] } ?? []))
        #expect(!warnings.joined().contains("hushed"))
    }

    /// Mutant: 'store.content' of another rule is not considered.
    @Test(
        arguments: [
            ("{methods: [POST], statuses: [200]}", ", so nothing is stored"), ("{methods: [GET, POST]}", ""),
            ("{methods: [POST], content: any}", nil), ("{methods: [GET]}", nil),
            ("{methods: [POST]}}\n- {match: {url: /b}, store: {content: graphql}", nil),
        ] as [(String, String?)]
    )
    func postWithoutContentIsReported(_ store: String, _ effect: String?) throws {
        let warnings = try Self.warnings("rules:\n- {match: {url: /a}, store: \(store)}")
        let message = effect.map {
            "f:3: rule 1: store.methods: Responses to POST are stored only with 'store.content'\($0). Add 'content: any', 'content: json' or 'content: graphql' to 'store'."
        }
        #expect(warnings == (message.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            ("[user]", "'user', but the key does not have it"),
            ("[user, \"a[*].id\"]", "'user', 'a[*].id', but the key does not have them"),
        ]
    )
    func ignoredMembersAreReported(_ members: String, _ effect: String) throws {
        let warnings = try Self.warnings(
            "rules:\n- {store: {content: json}, ignore: {members: \(members)}, credentials: none}"
        )
        #expect(
            warnings == [
                "f:3: rule 1: ignore.members: The origin gets \(effect). If a response depends on an ignored member, one client decides what all clients get."
            ]
        )
    }

    @Test(
        arguments: [
            (
                "from-origin: {remove: [Set-Cookie]}",
                "from-origin.remove: No client without credentials gets 'Set-Cookie', and responses are stored as if the origin had not sent it. A login is such a request. Add 'method: [GET, HEAD]' to 'match' to exclude it."
            ),
            (
                "match: {method: [GET, HEAD]}, from-origin: {remove: [Set-Cookie, Server]}",
                "from-origin.remove: No client without credentials gets 'Set-Cookie', 'Server', and responses are stored as if the origin had not sent them."
            ),
            (
                "from-origin: {vary: [Git-Protocol, Accept]}",
                "from-origin.vary: Each value of 'Git-Protocol', 'Accept' has its own stored response, up to 'store.variants-per-key', and clients see the names in 'Vary'."
            ),
        ]
    )
    func eachUseOfFromOriginIsReported(_ rule: String, _ warning: String) throws {
        #expect(try Self.warnings("rules:\n- {\(rule)}") == ["f:3: rule 1: \(warning)"])
    }

    /// Mutant: cookies that are kept are reported, too.
    @Test(
        arguments: [
            ("match: {cookie: [preview]}, bypass: true", "{cookies: {keep: [sid]}}", true),
            ("match: {cookie: [preview, sid], url: /a}, bypass: true", "{cookies: {keep: [sid]}}", true),
            ("match: {cookie: [preview], url: /a}, bypass: true", "{match: {url: /b}, cookies: {keep: [sid]}}", false),
            ("match: {cookie: [preview]}, bypass: true", "{cookies: {keep: [\"pre*\"]}}", false),
            ("match: {cookie: [preview]}, bypass: true", "{cookies: {keep: [sid], forward: all}}", false),
            ("match: {cookie: [preview]}, mode: offline", "{cookies: {keep: [sid]}}", false),
            (
                "match: {cookie: [preview]}, bypass: true",
                "{cookies: {keep: [sid]}, vary: {cookies: {preview: [on]}}}", false
            ),
        ]
    )
    func cookiesThatTheOriginNeverGetsAreReported(_ rule: String, _ keeping: String, _ isReported: Bool) throws {
        let warnings = try Self.warnings("rules:\n- {\(rule)}\n- \(keeping)")
        let message =
            "f:3: rule 1: match.cookie: 'preview' is not in 'keep' of 'cookies' of rule 2 (line 4), so the origin never gets it. Add it to that list."
        #expect(warnings == (isReported ? [message] : []))
    }

    /// Mutant: `token-cookies-are-left-out-silently`.
    @Test(
        arguments: [
            ("csrftoken", "'csrftoken' usually"), ("_csrf*", "'_csrf*' includes '_csrf', which usually"),
            ("XSRF-TOKEN", "'XSRF-TOKEN' usually"), ("csrf_token", "'csrf_token' usually"),
            ("__RequestVerificationToken", "'__RequestVerificationToken' usually"),
            ("*", "'*' also leaves out the cookies of sessions and CSRF tokens, so pages with forms are shared."),
            ("seen", nil), ("CSRFToken", nil), ("_c", nil),
        ] as [(String, String?)]
    )
    func tokensLeftOutOfStoredPagesAreReported(_ name: String, _ message: String?) throws {
        let warnings = try Self.warnings("rules:\n- {store: {without-cookies: [seen, \"\(name)\"]}}")
        #expect(warnings.count == (message == nil ? 0 : 1), "\(warnings)")
        guard let message, let warning = warnings.first else { return }
        #expect(warning.hasPrefix("f:3: rule 1: store.without-cookies: \(message)"), "\(warning)")
    }

    /// Mutant: `rules-for-a-host-that-no-client-sends-pass`.
    @Test(
        arguments: [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000/**", true),
            ("http://app:8000/v1", "http://app:8000/v1/x", true), ("http://localhost", "http://localhost/**", true),
            ("http://[::1]", "http://[::1]/**", true), ("http://a.example:81", "http://a.example:81/**", true),
            // Clients may use these, too.
            ("http://a.example", "http://a.example/**", false), ("http://127.0.0.1:8000", "/**", false),
            ("http://127.0.0.1:8000", "http://b.example/**", false),
            ("http://127.0.0.1:8000", "http://*:8000/**", false),
        ]
    )
    func rulesForTheHostOfAnOriginThatGetsTheClientsAreReported(
        _ origin: String,
        _ url: String,
        _ isReported: Bool
    ) throws {
        func warnings(_ more: String) throws -> [String] {
            try Self.warnings(
                "routes: [\(more){origin: \"\(origin)\", preserve-host: true}]\nrules: [{match: {url: \"\(url)\"}, bypass: true}]"
            )
        }
        let found = try warnings("")
        #expect(found.count == (isReported ? 1 : 0), "\(found)")
        if let first = found.first {
            let host = origin.split(separator: "/")[1]
            #expect(first.hasPrefix("f:3: rule 1: match.url: '\(url)' matches only requests whose 'Host' is '\(host)'"))
        }
        // Another route leads to the origin's URL.
        #expect(try warnings("{host: b, origin: \"\(origin)\"}, ").isEmpty)
    }

    @Test(
        arguments: [
            ("127.0.0.1:8080", "http://127.0.0.1:8080", true), ("0.0.0.0:8080", "http://localhost:8080", true),
            ("[\"[::]:80\"]", "http://127.0.0.1/x", true), ("127.0.0.1:8080", "http://localhost:8080", true),
            // This may be another machine.
            ("0.0.0.0:8080", "http://10.0.0.7:8080", false), ("127.0.0.1:8080", "http://127.0.0.1:8081", false),
            ("127.0.0.1:0", "http://127.0.0.1:8080", false),
        ]
    )
    func routesToTheGatewayItselfAreReported(_ listen: String, _ origin: String, _ isReported: Bool) throws {
        let warnings = try Self.warnings("listen: \(listen)\nroutes: [{origin: \"\(origin)\"}]")
        let message =
            "f:3: route 1: origin: '\(origin)' leads back to this gateway ('listen'). Write the address of the origin."
        #expect(warnings == (isReported ? [message] : []))
    }

    /// Mutant: `lists-that-reject-every-client-pass`.
    @Test(
        arguments: [
            ("", "deny: [0.0.0.0/0, \"::/0\"]", "every address"), ("", "deny: [0.0.0.0/0]", nil),
            ("", "allow: [10.0.0.0/8], deny: [10.0.0.0/8]", "every address that 'allow' contains"),
            (
                "", "allow: [10.1.0.0/16, \"fd00::1\"], deny: [\"fd00::/8\", 0.0.0.0/0]",
                "every address that 'allow' contains"
            ),
            ("", "allow: [10.0.0.0/8, 192.0.2.1], deny: [10.0.0.0/8]", nil), ("", "allow: [10.0.0.0/8]", nil),
            ("listen: [{unix: a.sock}]\n", "deny: [0.0.0.0/0, \"::/0\"]", nil),
            ("listen: [{unix: a.sock}]\n", "deny: [0.0.0.0/0, \"::/0\", unix]", "every address"),
        ] as [(String, String, String?)]
    )
    func listsThatRejectEveryClientAreReported(_ top: String, _ lists: String, _ denied: String?) throws {
        let message = denied.map {
            "clients.deny: No client is served, because 'deny' contains \($0), and comes first. Remove ranges from 'deny'."
        }
        let line = top.isEmpty ? 2 : 3
        let all = try Self.warnings("\(top)clients: {\(lists)}")
        #expect(all == (message.map { ["f:\(line): \($0)"] } ?? []))
        let route = try Self.warnings("\(top)routes: [{name: a, origin: \"http://b\", clients: {\(lists)}}]")
        #expect(route == (message.map { ["f:\(line): route 'a': \($0)"] } ?? []))
    }

    /// Mutant: `trust-of-every-client-passes`.
    @Test(
        arguments: [
            ("trusted: [10.0.0.7, 0.0.0.0/0]", "trusted", "0.0.0.0/0"), ("trusted: \"::/0\"", "trusted", "::/0"),
            ("purgers: 0.0.0.0/0", "purgers", "0.0.0.0/0"), ("trusted: [0.0.0.0/1, unix]", nil, ""),
            ("trusted: unix", nil, ""), ("purgers: [10.0.0.0/8]", nil, ""),
        ] as [(String, String?, String)]
    )
    func trustOfEveryClientIsReported(_ clients: String, _ list: String?, _ range: String) throws {
        let warnings = try Self.warnings("clients: {\(clients)}")
        let effects = [
            "trusted":
                "every client may state another address and scheme ('Forwarded', 'X-Forwarded-*'), and has no limit of connections. Write the addresses of the proxies.",
            "purgers":
                "every client may try tokens for PURGE. Write the addresses of the clients that purge.",
        ]
        let expected = list.map { "f:2: clients.\($0): '\(range)' contains every address, so \(effects[$0] ?? "")" }
        #expect(warnings == (expected.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            ("PSOT", " Did you mean 'POST'?"), ("DELTE", " Did you mean 'DELETE'?"), ("SUBSCRIPTION", ""),
            ("PROPFIND", nil), ("PURGE", nil), ("[GET, QUERY]", nil),
        ] as [(String, String?)]
    )
    func unknownMethodsAreReported(_ method: String, _ advice: String?) throws {
        let warnings = try Self.warnings("rules: [{match: {url: /x/**, method: \(method)}, bypass: true}]")
        let expected = advice.map {
            "f:2: rule 1: match.method: '\(method)' is an unknown method, so probably no request matches.\($0)"
        }
        #expect(warnings == (expected.map { [$0] } ?? []))
    }

    @Test func homeOfTheUserIsNotExpanded() throws {
        let message =
            "f:2: store.path: '~' is not expanded: '~/x' is next to the configuration file. Write the whole path."
        #expect(try Self.warnings("store: {path: ~/x}") == [message])
    }

    @Test(arguments: [
        ("127.0.0.1:1", "127.0.0.1:1", true), ("0.0.0.0:1", "127.0.0.1:1", true), ("[::]:1", "10.0.0.7:1", true),
        ("0.0.0.0:1", "[::]:1", true), ("0.0.0.0:1", "[::1]:1", false), ("127.0.0.1:1", "127.0.0.2:1", false),
        ("127.0.0.1:1", "127.0.0.1:2", false), ("127.0.0.1:0", "127.0.0.1:0", false), ("A.test:1", "a.test:1", true),
        ("0.0.0.0:1", "localhost:1", false),
    ])
    func addressesCollide(_ one: String, _ other: String, _ expected: Bool) {
        #expect(ListenerAddress(one).collides(with: ListenerAddress(other)) == expected)
        #expect(ListenerAddress(other).collides(with: ListenerAddress(one)) == expected)
    }
}
