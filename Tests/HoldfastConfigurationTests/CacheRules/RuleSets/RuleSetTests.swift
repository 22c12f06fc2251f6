import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct RuleSetTests {
    @Test func emptyRuleSetDecidesNothing() throws {
        let rules = try RuleSet([])
        #expect(rules.rules.isEmpty)
        #expect(rules.rules(for: request("https://a.example/")) === RequestRules.none)
    }

    /// GET and HEAD have the same key, so their rules must be the same. RFC 9110 §9.3.2
    @Test func rulesForGETApplyToHEAD() throws {
        let rules = try rules(
            """
              - {match: {method: GET}, store: {methods: [GET], per: {field: X-User}}}
              - {match: {method: HEAD}, tags: [head]}
            """
        )
        let head = rules.rules(for: request("https://a.example/", .head)).settings
        #expect(head.principal == rules.rules(for: request("https://a.example/")).settings.principal)
        #expect(head.principal != nil && head.admits(.head) && head.tags == ["head"])
        #expect(rules.rules(for: request("https://a.example/")).settings.tags.isEmpty)
        #expect(rules.rules(for: request("https://a.example/", .post)).settings.principal == nil)
        #expect(!head.admits(.post))
    }

    @Test func firstRuleWithASettingDecidesIt() throws {
        let rules = try rules(
            """
              - {name: special, match: {url: "/x/y"}, freshness: {lifetime: 1 s}, tags: [special]}
              - {name: general, match: {url: "/x/**"}, freshness: {lifetime: 2 s, errors: 3 s}, tags: [general]}
              - {name: all, freshness: {default: 4 s}}
            """
        )
        let settings = rules.rules(for: request("https://a.example/x/y?z")).settings
        #expect(settings.overrides.lifetime == 1 && settings.overrides.errorLifetime == 3)
        #expect(settings.overrides.defaultLifetime == 4 && settings.tags == ["special"])
        let decisions = rules.decisions(for: request("https://a.example/x/y?z"), contentType: nil)
        #expect(
            decisions == [
                RuleDecision(setting: "freshness.lifetime", value: "1 s", rule: "special", line: 3),
                RuleDecision(setting: "freshness.default", value: "4 s", rule: "all", line: 5),
                RuleDecision(setting: "freshness.errors", value: "3 s", rule: "general", line: 4),
                RuleDecision(setting: "tags", value: "[special]", rule: "special", line: 3),
            ]
        )
    }

    @Test func methodsAndContentTypesAreConditions() throws {
        let rules = try rules(
            """
              - {match: {content-type: [image/png, text/*]}, tags: [picture], store: {pin: true}}
              - {match: {method: POST}, bypass: true}
              - {tags: [other]}
            """
        )
        let get = rules.rules(for: request("https://a.example/"))
        #expect(get.settings.tags == ["other"] && !get.settings.isBypassed)
        #expect(get.settings(forContentType: "IMAGE/png; q=1").tags == ["picture"])
        #expect(get.settings(forContentType: "text/html").isPinned)
        #expect(get.settings(forContentType: "image/webp").tags == ["other"])
        #expect(get.settings(forContentType: nil).tags == ["other"])
        let post = rules.rules(for: request("https://a.example/", .post))
        #expect(post.settings.isBypassed && post.settings(forContentType: "text/html").tags == ["picture"])
        let decided = rules.decisions(for: request("https://a.example/"), contentType: "text/html")
        #expect(decided.map(\.rule) == ["rule 1", "rule 1"])
    }

    @Test func sameMatchingRulesShareOneInstance() throws {
        let rules = try rules(
            """
              - {match: {url: "/x?q=*"}, tags: [query]}
              - {match: {url: "/x*"}, mode: offline}
            """
        )
        let one = rules.rules(for: request("https://a.example/x1?a"))
        #expect(one === rules.rules(for: request("https://a.example/x2?b")))
        #expect(one === rules.rules(for: request("https://a.example/x")))
        #expect(one !== rules.rules(for: request("https://a.example/x?q=1")))
        #expect(rules.rules(for: request("https://a.example/x?q=1")).settings.tags == ["query"])
        #expect(rules.rules(for: request("https://a.example/x?r=1")).settings.tags.isEmpty)
    }

    @Test func requestWithoutTargetHasNoRules() throws {
        let rules = try rules("  - {mode: offline}")
        #expect(
            rules.rules(for: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")) === RequestRules.none
        )
        #expect(rules.rules(for: request("https://a.example/x y")) === RequestRules.none)
    }

    @Test func fileAndSwiftRulesDecideAlike() throws {
        var catalogue = RuleSettings()
        catalogue.freshness.lifetime = .seconds(300)
        catalogue.stale.unreachable = .unlimited
        catalogue.stale.onError = .limited(.seconds(86_400))
        catalogue.ignore.fields = [.userAgent]
        catalogue.tags = ["catalogue"]
        catalogue.toOrigin.set = [.from: .literal("holdfast"), .referer: .environment("REFERER")]
        var images = RuleSettings()
        images.store.largest = 8 << 20
        images.goodDataGuard = .off
        var posts = RuleSettings()
        posts.store.content = .graphQL
        posts.softTimeout = .on(.milliseconds(500))
        posts.eagerRefresh = .on(0.5)
        var rest = RuleSettings()
        rest.normalize.droppedParameters = ["tracking"]
        rest.ignore.directives = [.noStore, .private]
        rest.usesBreaker = false
        let values = try RuleSet(
            [
                Rule("catalogue", matching: .init(urls: ["https://a.example/c/**", "/d?q*"]), settings: catalogue),
                Rule(matching: .init(contentTypes: ["image/*"]), settings: images),
                Rule("posts", matching: .init(urls: ["http*://*.example/**"], methods: [.post]), settings: posts),
                Rule(settings: rest),
            ],
            environment: ["REFERER": "x"]
        )
        let file = try rules(
            """
              - name: catalogue
                match: {url: ["https://a.example/c/**", "/d?q*"]}
                freshness: {lifetime: 5 m}
                stale: {unreachable: unlimited, on-error: 24 h}
                ignore: {fields: User-Agent}
                tags: catalogue
                to-origin: {set: {From: holdfast, Referer: {env: REFERER}}}
              - match: {content-type: image/*}
                store: {largest: 8 MiB}
                guard: off
              - name: posts
                match: {url: "http*://*.example/**", method: POST}
                store: {content: graphql}
                timeouts: {soft: 500 ms}
                eager-refresh: 0.5
              - normalize: {drop-parameters: tracking}
                ignore: {directives: [private, no-store]}
                breaker: false
            """,
            environment: ["REFERER": "x"]
        )
        var numbers = Numbers(seed: 5)
        for _ in 0..<500 {
            let url =
                numbers.pick(["http", "https"]) + "://" + numbers.pick(["a.example", "b.example", "example.org:81"])
                + numbers.pick(["/c/1", "/c", "/d", "/d?q=1", "/", "/x?y"])
            let request = request(url, numbers.pick([.get, .post]))
            for type in [nil, "image/png", "text/html"] {
                var decided = file.decisions(for: request, contentType: type)
                for index in decided.indices { decided[index].line = nil }
                #expect(decided == values.decisions(for: request, contentType: type))
                let settings = file.rules(for: request).settings(forContentType: type)
                #expect(settings == values.rules(for: request).settings(forContentType: type))
            }
        }
    }
}

/// Index, memory and merging compared with the definition: all rules, one after the other.
@Suite(.timeLimit(.minutes(20))) struct RuleMatchingTests {
    /// A rule with a few settings, so that several rules share some.
    private static func rule(_ numbers: inout Numbers) -> Rule {
        var settings = RuleSettings()
        if numbers.chance(2) { settings.tags = ["t\(numbers.next() % 1000)"] }
        if numbers.chance(2) { settings.store.pin = numbers.chance(2) }
        if numbers.chance(3) { settings.freshness.lifetime = .seconds(Int64(numbers.next() % 1000)) }
        var match = Rule.Match()
        if !numbers.chance(6) {
            match.urls = (0...Int(numbers.next() % 2)).map { _ in pattern(&numbers) }
        }
        if numbers.chance(4) { match.methods = numbers.pick([[.get], [.post], [.get, .post]]) }
        if numbers.chance(4) { match.contentTypes = numbers.pick([["a/b"], ["a/*"], ["*/*"], ["c/d", "a/b"]]) }
        if SettingSet(of: settings).isEmpty { settings.tags = ["only"] }
        return Rule(matching: match, settings: settings)
    }

    private static func pattern(_ numbers: inout Numbers) -> URLPattern {
        let host = numbers.pick([
            "", "https://a.b", "http*://a.b:1", "https://*.b", "https://**", "*://**.b:*", "https://b",
        ])
        let path = (0...Int(numbers.next() % 3)).map { _ in numbers.pick(["a", "b", "/", "*", "**", "/"]) }.joined()
        return URLPattern(host + "/" + path + numbers.pick(["", "", "", "?", "?*", "?a*"]))
    }

    private static func target(_ numbers: inout Numbers) -> String {
        let host = numbers.pick([
            "https://a.b", "http://a.b:1", "https://a.b:1", "https://x.a.b", "https://b", "http://c",
        ])
        let path = (0...Int(numbers.next() % 4)).map { _ in numbers.pick(["a", "b", "/"]) }.joined()
        return host + "/" + path + numbers.pick(["", "", "?", "?a", "?ab", "?b"])
    }

    /// The rule that decides each setting, by the definition: all rules are tried in order.
    private static func expected(
        _ rules: [(rule: Rule, patterns: [CompiledPattern], settings: SettingSet)],
        _ target: TargetParts,
        _ method: HTTPRequest.Method,
        _ type: String?
    ) -> [Int: Int] {
        var result: [Int: Int] = [:]
        for (index, (rule, patterns, settings)) in rules.enumerated() {
            guard patterns.isEmpty || patterns.contains(where: { $0.matches(target) }) else { continue }
            guard rule.match.methods.isEmpty || rule.match.methods.contains(method) else { continue }
            let types = rule.match.contentTypes
            guard types.isEmpty || type.map({ type in types.contains { MediaTypes.covers($0, type) } }) == true else {
                continue
            }
            for setting in settings.indices where result[setting] == nil { result[setting] = index }
        }
        return result
    }

    private static func generated(
        _ numbers: inout Numbers,
        _ count: Int
    ) throws -> [(rule: Rule, patterns: [CompiledPattern], settings: SettingSet)] {
        try (0..<count).map { _ in
            let rule = rule(&numbers)
            return (rule, try rule.match.urls.map { try CompiledPattern($0) }, SettingSet(of: rule.settings))
        }
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>) func indexMatchesLikeTheDefinition(_ seed: UInt64) throws {
        var numbers = Numbers(seed: seed)
        let all = try Self.generated(&numbers, 12)
        // Dead rules are compiled too, so their findings do not matter here.
        let rules = RuleSet(CheckedRules(all.map(\.rule), sources: .none), lowest: [])
        #expect(rules.rules.count == all.count)
        for _ in 0..<40 {
            let target = Self.target(&numbers)
            let method: HTTPRequest.Method = numbers.pick([.get, .post])
            let type: String? = numbers.pick([nil, "a/b", "a/x", "c/d"])
            let expected = Self.expected(all, TargetParts(try TargetURI(target)), method, type)
            let decisions = rules.decisions(for: request(target, method), contentType: type)
            let decided = decisions.map { "\($0.setting) \($0.rule)" }
            #expect(decided == expected.sorted { $0.key < $1.key }.map { "\(Setting.all[$0].name) rule \($1 + 1)" })
            var settings = ExchangeSettings()
            for (place, index) in expected { Setting.all[place].apply(all[index].rule.settings, [:], &settings) }
            // The second time, the rules come from the memory.
            for _ in 0..<2 {
                let found = rules.rules(for: request(target, method)).settings(forContentType: type)
                #expect(found == settings, "\(target)")
            }
        }
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>) func effectiveRulesAreNeverReportedDead(_ seed: UInt64) throws {
        var numbers = Numbers(seed: seed &+ 1000)
        let all = try Self.generated(&numbers, 10)
        let findings = CheckedRules(all.map(\.rule), sources: .none).findings
        let dead = Set(findings.compactMap { $0.message.hasPrefix("It can never take effect") ? $0.subject : nil })
        var counting: Set<String> = []
        for _ in 0..<150 {
            let target = TargetParts(try TargetURI(Self.target(&numbers)))
            for type in [nil, "a/b", "a/x", "c/d"] {
                for method in [HTTPRequest.Method.get, .post, .put] {
                    for index in Self.expected(all, target, method, type).values {
                        counting.insert("rule \(index + 1)")
                    }
                }
            }
        }
        #expect(dead.isDisjoint(with: counting))
    }

    @Test func randomRulesContainReportedDeadRules() {
        var found = 0
        for seed in 1...60 as ClosedRange<UInt64> {
            var numbers = Numbers(seed: seed &+ 1000)
            let all = (0..<10).map { _ in Self.rule(&numbers) }
            found += CheckedRules(all, sources: .none).findings.count
        }
        #expect(found > 20, "a check that finds nothing proves nothing")
    }

    @Test func targetMemoryStaysBoundedInAFlood() throws {
        let rules = try rules("  - {match: {url: [\"/used/*?q\", \"/**\"]}, tags: [a]}")
        let used = (0..<100).map { request("https://a.example/used/\($0)") }
        for round in 0..<10_000 {
            _ = rules.rules(for: request("https://a.example/flood/\(round)?\(round)"))
            if round % 1000 == 0 { for request in used { _ = rules.rules(for: request) } }
        }
        #expect(rules.compiled.remembered.targets <= TargetMemory.limit)
        let memory = TargetMemory()
        for round in 0..<4000 {
            let request = request("https://a.example/\(String(repeating: "x", count: 3900))\(round)")
            guard let key = TargetMemory.Key(request, withQuery: false) else { continue }
            memory.remember(.rules(.none), for: key)
        }
        #expect(memory.size.bytes <= TargetMemory.byteLimit && memory.size.targets > 100)
    }

    @Test func queriesNoPatternMatchesShareOneEntry() throws {
        let rules = try rules("  - {match: {url: \"/x\"}, tags: [a]}")
        for round in 0..<1000 { _ = rules.rules(for: request("https://a.example/x?\(round)")) }
        #expect(rules.compiled.remembered.targets == 1)
    }

    @Test func usedTargetSurvivesAFlood() throws {
        let memory = TargetMemory()
        let used = try #require(TargetMemory.Key(request("https://a.example/used"), withQuery: false))
        memory.remember(.rules(.none), for: used)
        var lost = 0
        for round in 0..<12_000 {
            if memory.entry(for: used) == nil { lost += 1 }
            guard let other = TargetMemory.Key(request("https://a.example/\(round)"), withQuery: false) else {
                continue
            }
            memory.remember(.rules(.none), for: other)
        }
        #expect(lost == 0 && memory.size.targets <= TargetMemory.limit)
    }
}

extension FieldSources {
    fileprivate static var none: FieldSources { FieldSources(environment: [:], folder: nil) }
}
