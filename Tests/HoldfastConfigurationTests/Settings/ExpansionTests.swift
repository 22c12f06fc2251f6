import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// References to variables: their syntax, where they are expanded, and that no value is shown.
@Suite(.timeLimit(.minutes(20))) struct ExpansionTests {
    private static let variables = ["A": "one", "B": "", "_x1": "y", "NEST": "${A}"]

    private static func expanded(_ text: String, _ variables: [String: String] = variables) throws -> String {
        var expansion = Expansion(environment: variables)
        return try expansion.expand(.text(text, isPlain: true, line: 1)).text()
    }

    @Test(arguments: [
        ("${A}", "one"), ("x${A}y", "xoney"), ("${A}${A}", "oneone"), ("x${B}", "x"), ("${_x1}", "y"), ("$A", "$A"),
        ("$", "$"), ("$$", "$$"), ("a$", "a$"), ("{A}", "{A}"), ("$${A}", "${A}"), ("$$${A}", "$${A}"),
        ("$$$${A}", "$$${A}"), ("$${", "${"), ("$${A}${A}", "${A}one"), ("}${A}{", "}one{"), ("é${A}é", "éoneé"),
        ("$${$${", "${${"), ("${NEST}", "${A}"),
    ])
    func textIsExpanded(_ text: String, _ result: String) throws {
        #expect(try Self.expanded(text) == result)
    }

    @Test(arguments: ["${}", "${A", "${", "a${", "${1A}", "${A-B}", "${A:-x}", "${ A}", "${A }", "${É}", "${${A}}"])
    func referenceWithoutANameIsRejected(_ text: String) {
        #expect(
            findings("version: 1\nstore:\n  path: '\(text)'", environment: Self.variables) == [
                "line 3: store.path: '\(text)' has '${' without a variable's name and '}'. Write '${NAME}', or '$${' for the text '${'."
            ]
        )
    }

    @Test func unsetVariableIsNamedWithItsSettingAndLine() {
        let yaml = """
            version: 1
            store:
              budget: ${SIZE}
            routes:
              - name: shop
                origin: https://${HOST}
            rules:
              - match: {url: "https://${HOST}/**"}
                tags:
                  - ${TAG}
            origins:
              "https://a.example": {addresses: ["${HOST}:1"]}
            """
        func message(_ name: String) -> String {
            "The environment has no variable '\(name)'. Set it, or write '$${\(name)}' for the text '${\(name)}'."
        }
        let expected = [
            "f.yaml:3: store.budget: \(message("SIZE"))", "f.yaml:6: route 'shop': origin: \(message("HOST"))",
            "f.yaml:8: rule 1: match.url: \(message("HOST"))", "f.yaml:10: rule 1: tags: \(message("TAG"))",
            "f.yaml:12: origin 'https://a.example': addresses: \(message("HOST"))",
        ]
        #expect(findings(yaml, file: "f.yaml") == expected)
    }

    @Test func everyKindOfValueIsExpandedBeforeItIsRead() throws {
        let yaml = """
            version: 1
            threads: ${N}
            mode: ${MODE}
            listen: ["127.0.0.1:${PORT}", {unix: "${DIR}/h.sock", mode: "${PERMISSIONS}"}]
            store: {path: "${DIR}/store", budget: "${SIZE}", secure-delete: "${FLAG}"}
            limits: {connections-per-client: "${OFF}"}
            timeouts: {hard: "${N} ${UNIT}"}
            eager-refresh: ${SHARE}
            routes:
              - {name: "${NAME}", host: "api.${DOMAIN}", origin: "https://${DOMAIN}/v${N}", compress: "${FLAG}"}
            rules:
              - match: {url: "https://${DOMAIN}/v${N}/**", method: ["${METHOD}"]}
                freshness: {lifetime: "${N} m"}
                store: {statuses: ["${STATUS}"]}
                to-origin: {set: {X-Region: "r-${NAME}"}}
            """
        let variables = [
            "N": "7", "MODE": "preferStored", "PORT": "81", "DIR": "/srv", "PERMISSIONS": "0600", "SIZE": "2 GiB",
            "FLAG": "true", "OFF": "off", "UNIT": "s", "SHARE": "0.5", "NAME": "eu", "DOMAIN": "o.example",
            "METHOD": "GET", "STATUS": "200",
        ]
        let configuration = try Configuration(yaml: yaml, environment: variables)
        #expect(configuration.threads == 7 && configuration.mode == .preferStored)
        #expect(configuration.listeners == [.address("127.0.0.1:81"), .unix(path: "/srv/h.sock", mode: 0o600)])
        #expect(configuration.store.path == "/srv/store" && configuration.store.budget == 2 << 30)
        #expect(configuration.store.securelyDeletes == true && configuration.limits.connectionsPerClient == nil)
        #expect(configuration.options.hardTimeout == .seconds(7) && configuration.options.eagerRefresh == 0.5)
        let route = try #require(configuration.routes.first)
        #expect(route.name == "eu" && route.host == "api.o.example" && route.origin == "https://o.example/v7")
        #expect(route.compresses)
        let settings = configuration.rules.rules(for: request("https://o.example/v7/x")).settings
        #expect(settings.overrides.lifetime == 420 && settings.overrides.statuses == [200])
        #expect(settings.requestFields.set[HTTPField.Name("X-Region") ?? .accept] == "r-eu")
    }

    /// A route with `respond`, the pages of a route, and the addresses for metrics and health.
    @Test func fixedRoutesPagesAndMetricsAreExpandedAndNotShown() throws {
        let yaml = """
            version: 1
            health: {live: "/${PATH}"}
            metrics: {listen: "127.0.0.1:${PORT}", token: "${DIR}/token", public: "${FLAG}"}
            routes:
              - name: "${NAME}"
                host: "${HOST}"
                match: {scheme: "${SCHEME}", query: {a: ["${NAME}"]}}
                respond: {status: "${STATUS}", location: "https://${HOST}{path}"}
              - {origin: "https://a.example"}
            """
        let variables = [
            "PATH": "hushed-path", "PORT": "8181", "DIR": "/hushed", "FLAG": "yes", "NAME": "hushed-name",
            "HOST": "hushed.example", "SCHEME": "http", "STATUS": "301",
        ]
        let configuration = try Configuration(yaml: yaml, environment: variables)
        #expect(configuration.health.live == "/hushed-path" && configuration.metrics.listen == "127.0.0.1:8181")
        #expect(configuration.metrics.token == "/hushed/token" && configuration.metrics.isPublic)
        let route = try #require(configuration.fixedRoutes.first)
        #expect(route.name == "hushed-name" && route.host == "hushed.example" && route.scheme == "http")
        #expect(route.conditions.query == ["a": ["hushed-name"]] && route.answer.status == 301)
        #expect(route.answer.location(for: "/x") == "https://hushed.example/x")
        let shown = "\(configuration.effective)"
        for text in [
            "${NAME}", "${HOST}", "${SCHEME}", "${STATUS}", "https://${HOST}{path}", "${DIR}/token", "/${PATH}",
        ] {
            #expect(shown.contains(text), "\(text): \(shown)")
        }
        for value in ["hushed", "8181", "301"] { #expect(!shown.contains(value), "\(shown)") }
        let wrong = findings(yaml, environment: variables.merging(["STATUS": "hushed"]) { $1 })
        #expect(
            wrong == ["line 8: route '${NAME}': respond: Expected a whole number from 200 to 599, not '${STATUS}'."]
        )
    }

    /// A value is text, whatever it contains.
    @Test(arguments: ["a, b", "a]\nthreads: 3", "{x: y}", "- a\n- b", "&a *a", "# no", "${A}", "!!int 3"])
    func valueCannotChangeTheStructure(_ value: String) throws {
        let yaml = "version: 1\nrules:\n  - tags: [x, \"${VALUE}\"]"
        guard !value.contains("\n") else {
            #expect(try Self.expanded("${VALUE}", ["VALUE": value]) == value)
            return
        }
        let rules = try Configuration(yaml: yaml, environment: ["VALUE": value, "A": "no"]).rules
        #expect(rules.rules(for: request("https://a.example/")).settings.tags == ["x", value])
        #expect(try Configuration(yaml: yaml, environment: ["VALUE": "y"]).threads == nil)
    }

    @Test func keysAreNotExpanded() throws {
        let yaml = "version: 1\nstore: {quotas: {tags: {\"${A}\": 1 GiB}}}"
        #expect(try Configuration(yaml: yaml, environment: ["A": "x"]).store.tagQuotas == ["${A}": 1 << 30])
        #expect(
            findings("version: 1\n${A}: 1", environment: ["A": "threads"]).first?.hasPrefix(
                "line 2: '${A}' is unknown."
            )
                == true
        )
    }

    // MARK: Secrets

    @Test(arguments: [
        ("fleet:\n  url: \"redis://a\"\n  namespace: n\n  secret: ${KEY}", "fleet.secret", "KEY"),
        ("fleet:\n  url: \"redis://a\"\n  namespace: n\n  secret: {env: \"${KEY}\"}", "fleet.secret", "KEY"),
        ("\n\nfleet: {url: \"redis://a\", password: \"x${PW}\"}", "fleet.password", "PW"),
        ("rules:\n  -\n   to-origin: {set: {Authorization: \"Bearer ${T}\"}}\n", "rule 1: to-origin.set", "T"),
        ("rules:\n  -\n   to-origin: {set: {X-Plain: {env: \"${T}\"}}}\n", "rule 1: to-origin.set", "T"),
    ])
    func secretMustUseItsOwnForm(_ yaml: String, _ setting: String, _ variable: String) {
        let found = findings("version: 1\n" + yaml, environment: ["KEY": "hunter2", "PW": "hunter2", "T": "hunter2"])
        #expect(
            found.contains {
                $0.contains(
                    "\(setting): A secret must not be expanded into the configuration. Write '{env: \(variable)}', with the whole value in the variable."
                )
            },
            "\(found)"
        )
        #expect(!found.joined().contains("hunter2"))
    }

    @Test func pathOfASecretMayHaveVariables() throws {
        let yaml = """
            version: 1
            fleet: {url: "redis://a", namespace: n, secret: {file: "${CREDENTIALS_DIRECTORY}/fleet"}}
            """
        let configuration = try Configuration(yaml: yaml, environment: ["CREDENTIALS_DIRECTORY": "/run/c"])
        #expect(configuration.fleet.secret == .file("/run/c/fleet"))
    }

    // MARK: Output

    @Test func effectiveConfigurationShowsReferences() throws {
        let yaml = """
            version: 1
            listen: "127.0.0.1:${PORT}"
            store: {budget: "${SIZE}", path: "$${plain}"}
            timeouts: {idle: "${TIME}"}
            origins:
              "https://o.example": {addresses: ["${SERVER}:443"], timeouts: {connect: "${TIME}"}}
            routes:
              - {name: "${NAME}", origin: "https://o.example", host: "${SERVER}", rewrite: {bodies: ["${TYPE}"]}}
            rules:
              - name: ${NAME}
                match: {url: "https://${SERVER}/**"}
                freshness: {lifetime: "${TIME}"}
            """
        let variables = [
            "PORT": "48151", "SIZE": "623 MiB", "SERVER": "secret.example", "TIME": "4815 s", "NAME": "hushed",
            "TYPE": "text/hushed",
        ]
        let configuration = try Configuration(yaml: yaml, environment: variables)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        let decisions = configuration.rules.decisions(for: request("https://secret.example/x"), contentType: nil)
        let texts = [
            "\(configuration.effective)", String(decoding: try encoder.encode(configuration.effective), as: UTF8.self),
            "\(decisions)",
        ]
        for text in texts {
            for value in ["48151", "623", "secret.example", "4815", "hushed"] {
                #expect(!text.contains(value), "\(text)")
            }
        }
        for part in [
            "127.0.0.1:${PORT}  (line 2)", "${SIZE}  (line 3)", "$${plain}  (line 3)", "[${SERVER}:443]", "${TIME}",
            "  ${NAME} (line 8)", "    timeouts.idle        ${TIME}", "[${TYPE}]", "https://${SERVER}/**",
        ] { #expect(texts[0].contains(part), "\(part) in \(texts[0])") }
        #expect(texts[2].contains("${TIME}") && texts[2].contains("${NAME}"))
    }

    private static let wrong = [
        "threads: ${BAD}", "mode: ${BAD}", "listen: ${BAD}", "store: {budget: '${BAD}'}", "timeouts: {hard: '${BAD}'}",
        "listen: ['127.0.0.1:1', '${BAD}']", "eager-refresh: ${BAD}", "health: {path: '${BAD}'}",
        "clients: {trusted: ['${BAD}']}", "clients: {trace: '${BAD}'}", "fleet: {url: '${BAD}'}",
        "fleet: {url: 'redis://a', namespace: 'n${BAD}!', share: '${BAD}'}", "control: {hosts: ['a/${BAD}']}",
        "control: {tokens: [{name: '${BAD}!', file: a, scope: read}]}", "log: {access: '${BAD}'}",
        "store: {quotas: {tags: {a: '${BAD}'}}}", "routes: [{origin: 'x://${BAD}'}]", "routes: [{origin: '${BAD}'}]",
        "routes: [{origin: 'https://a.example', path: '${BAD}'}]",
        "routes: [{origin: 'https://a.example', mode: '${BAD}'}]",
        "routes: [{origin: 'https://a.example', host: 'h ${BAD}'}]",
        "routes: [{name: '${BAD}', origin: 'https://a.example'}, {name: '${BAD}', path: /x, origin: 'https://a.example'}]",
        "rules: [{tags: [a], name: '${BAD}'}, {tags: [a], name: '${BAD}'}]",
        "rules: [{match: {url: '${BAD}'}, tags: [a]}]",
        "rules: [{match: {method: '${BAD} x'}, tags: [a]}]", "rules: [{freshness: {lifetime: '${BAD}'}}]",
        "rules: [{stale: {ignore: ['${BAD}']}}]", "rules: [{tags-from: ['${BAD}']}]",
        "origins: {'https://a.example': {mirrors: ['${BAD}']}}",
        "origins: {'https://a.example': {addresses: ['${BAD}']}}",
        "origins: {'https://a.example': {server-name: '${BAD}:1'}}",
    ]

    @Test(
        arguments: wrong,
        ["s3cret-Value", "S3CRET.HUSHED.test", "91827364", "s3cret value " + String(repeating: "z", count: 200)]
    )
    func findingShowsTheReferenceAndNotTheValue(_ yaml: String, _ value: String) {
        let found = findings("version: 1\n" + yaml, environment: ["BAD": value]).joined(separator: "\n").lowercased()
        // A number is a valid name or number of some settings.
        if value != "91827364" { #expect(!found.isEmpty) }
        for word in value.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) where word.count > 5 {
            #expect(!found.contains(word.prefix(40)), "\(found)")
        }
    }

    @Test func messageStillSaysWhatIsExpected() {
        #expect(
            findings("version: 1\nthreads: ${N}", environment: ["N": "5000"]) == [
                "line 2: threads: Expected a whole number from 1 to 1024, not '${N}'."
            ]
        )
        #expect(
            findings("version: 1\nstore: {path: '${P}'}", environment: ["P": ""]) == [
                "line 2: store.path: '${P}' is empty, because the variable 'P' is empty. Set it to a value."
            ]
        )
        #expect(
            findings("version: 1\nclients:\n  trusted:\n  - 10.0.0.1\n  - ${P}", environment: ["P": ""]) == [
                "line 5: clients.trusted: '${P}' is empty, because the variable 'P' is empty. Set it to a value."
            ]
        )
        #expect(
            findings("version: 1\nhealth: {path: '/${P}'}", environment: ["P": "a b"]) == [
                "line 2: health.path: '/${P}' has a value that this setting does not accept. Change the variable."
            ]
        )
        // The other member is wrong, so its message is shown.
        let found = findings(
            "version: 1\nclients: {trusted: ['${RANGE}', nonsense]}",
            environment: ["RANGE": "fd12::/16"]
        )
        #expect(found.first?.contains("'nonsense' is not an address") == true, "\(found)")
    }

    @Test func laterMessagesHideValues() {
        var references = References()
        references.add(variable: "HOST", "Origin.example")
        references.add(variable: "N", "1")
        references.add(variable: "LONG", String(repeating: "x", count: 200))
        for (message, shown) in [
            ("'https://origin.example/x' is wrong", "'https://${HOST}/x' is wrong"), ("1 of 10000", "${N} of 10000"),
            ("my-origin.example.net", "my-${HOST}.net"), ("'${N}' is 1.", "'${N}' is ${N}."), ("", ""),
            ("'\(String(repeating: "x", count: 100))…'", "'${LONG}…'"),
        ] { #expect(references.hide(in: message) == shown) }
        #expect(References().hide(in: "a ${N} 1") == "a ${N} 1")
    }

    // MARK: Limits and properties

    @Test func lengthOfAllExpandedTextIsLimited() throws {
        var expansion = Expansion(environment: ["A": String(repeating: "a", count: 1 << 20)])
        let value = FileValue.list(Array(repeating: .text("${A}", isPlain: true, line: 1), count: 16), line: 1)
        _ = try expansion.expand(value)
        #expect(throws: Refusal.self) { try expansion.expand(.text("${A}", isPlain: true, line: 1)) }
    }

    private static let pieces = ["$", "{", "}", "${A}", "$${", "${", "A", "é", " ", "x"]

    /// Any text can be written: each `${` is escaped.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func escapedTextIsTheText(seed: UInt64) throws {
        var numbers = Numbers(seed: seed)
        for _ in 0..<500 {
            let text = (0..<(1 + Int(numbers.next() >> 60))).map { _ in numbers.pick(Self.pieces) }.joined()
            let escaped = text.replacingOccurrences(of: "${", with: "$${")
            #expect(try Self.expanded(escaped, [:]) == text, "seed \(seed): \(text)")
        }
    }

    /// Joined parts are expanded as the parts are, and any text is expanded or rejected.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func partsAreExpandedIndependently(seed: UInt64) throws {
        var numbers = Numbers(seed: seed)
        let literals = ["x", "{", "}", "é", "A", "-"]
        for _ in 0..<500 {
            var (text, result) = ("", "")
            for _ in 0..<(1 + Int(numbers.next() >> 60)) {
                switch numbers.next() >> 62 {
                case 0:
                    text += "${A}"
                    result += "one"
                case 1:
                    text += "$${"
                    result += "${"
                default:
                    let literal = numbers.pick(literals)
                    text += literal
                    result += literal
                }
            }
            #expect(try Self.expanded(text) == result, "seed \(seed): \(text)")
            let wild = (0..<12).map { _ in numbers.pick(Self.pieces) }.joined()
            if let expanded = try? Self.expanded(wild) {
                #expect(expanded.utf8.count <= wild.utf8.count, "'one' is shorter than '${A}'")
            }
        }
    }
}
