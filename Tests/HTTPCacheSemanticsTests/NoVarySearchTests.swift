import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite("No-Vary-Search, draft-ietf-httpbis-no-vary-search", .timeLimit(.minutes(20)), .tags(.noVarySearch))
struct NoVarySearchTests {
    private func rule(_ lines: String...) -> NoVarySearch {
        NoVarySearch(fields(lines.map { ("No-Vary-Search", $0) }))
    }
    private func names(_ names: String...) -> Set<[UInt8]> { Set(names.map { Array($0.utf8) }) }

    @Test func parsesTheField() {
        #expect(rule("key-order") == NoVarySearch(significance: .allExcept([]), keyOrderMatters: false))
        #expect(rule("key-order=?1") == rule("key-order"))
        #expect(rule("params=(\"a\")").significance == .allExcept(names("a")))
        #expect(rule("except=(\"x\")").significance == .only(names("x")))
        #expect(rule("except=()").significance == .only([]))
        #expect(rule("except=(\"x\"), key-order") == rule("key-order, except=(\"x\")"))
        #expect(rule("params=(\"a\" \"b\";x)", "key-order;y=1, other=3").significance == .allExcept(names("a", "b")))
        #expect(rule("params=(\"%C3%A9+%E6%B0%97\")").significance == .allExcept(names("é 気")))
        // The draft's earlier spelling, which browsers accept.
        #expect(rule("params").significance == .only([]))
        #expect(rule("params, except=(\"x\")").significance == .only(names("x")))
    }

    @Test(arguments: [
        "", "unknown-key", "key-order=\"not a boolean\"", "key-order=1", "params=\"not an inner list\"",
        "params=(not-a-string)",
        "params=1", "params=?0, except=(\"x\")", "params=(\"a\"), except=(\"x\")", "params=(), except=()",
        "params, except=(not-a-string)", "except=\"not an inner list\"", "except=(not-a-string)", "except=?1", "except",
        "key-order, params=a", "params=(\"a\"", "params=?0", "params=()", "key-order=?0", "Key-Order", "key-order,",
        "params=(\"é\")", "params=(1)",
    ])
    func invalidFieldsMeanTheDefault(value: String) {
        #expect(rule(value) == .default)
        #expect(rule(value).isDefault)
    }

    @Test func withoutTheFieldTheWholeQueryMatters() {
        let rule = NoVarySearch([:])
        #expect(rule == .default)
        #expect(rule.equivalent("a=1", "a=1"))
        #expect(rule.equivalent(nil, nil))
        #expect(!rule.equivalent(nil, ""))
        #expect(!rule.equivalent("a=b&&&c", "a=b&c="))
        #expect(!rule.equivalent("a=%41", "a=A"))
        #expect(!rule.equivalent("é", "e\u{301}"))
        #expect(rule.normalizedQuery("b&&a=%41") == "b&&a=%41")
        #expect(rule.normalizedQuery("")?.isEmpty == true)
        #expect(rule.normalizedQuery(nil) == nil)
    }

    @Test(
        arguments: [
            ("params=(\"a\")", "a=1&b=2", "b=2&a=3&a", true), ("params=(\"a\")", "a=1&b=2", "b=3", false),
            ("params=(\"a\")", "b=1&c=2", "c=2&b=1", false),
            ("params=(\"a\"), key-order", "b=1&a=9&c=2", "c=2&b=1", true),
            ("params=(\"a\")", "A=1", "", false), ("except=(\"id\")", "id=1&x=2", "y=3&id=1", true),
            ("except=(\"id\")", "id=1", "id=2", false), ("except=(\"id\")", "id=1", nil, false),
            ("except=()", "a=1", nil, true), ("except=()", "a=1&b", "c", true), ("params", "a", "b", true),
            ("key-order", "a=1&b=2", "b=2&a=1", true), ("key-order", "a=1&a=2", "a=2&a=1", false),
            ("key-order", "a=1&b=3&a=2", "b=3&a=1&a=2", true), ("key-order", "a=1", "a=1&a=1", false),
            // The draft's table of equivalences.
            ("key-order", nil, "", true), ("key-order", "a=x", "%61=%78", true), ("key-order", "a=é", "a=%C3%A9", true),
            ("key-order", "a=%f6", "a=%ef%bf%bd", true), ("key-order", "a=x&&&&", "a=x", true),
            ("key-order", "a=", "a", true),
            ("key-order", "a=%20", "a= &", true), ("key-order", "a=+", "a= &", true),
            ("key-order", "a=%C3%A9", "a=e%CC%81", false),
            // Names and values stay apart.
            ("key-order", "a=b=c", "a=b%3Dc", true), ("key-order", "a%3Db=c", "a=b=c", false),
            ("key-order", "a%26b", "a&b", false),
            ("key-order", "=", nil, false), ("key-order", "=", "=&", true), ("key-order", "a=%2B", "a=+", false),
            ("key-order", "a=%zz", "a=%25zz", true), ("key-order", "a=%", "a=%25", true),
            ("key-order", "a=%4", "a=%254", true),
            ("params=(\"a\")", "%61=1", nil, true), ("params=(\"a b\")", "a+b=1", nil, true),
            ("params=(\"a+b\")", "a%20b=1", nil, true), ("params=(\"a%2Bb\")", "a%2bb=1", nil, true),
        ] as [(String, String?, String?, Bool)]
    )
    func comparesQueriesByTheRule(value: String, first: String?, second: String?, isEquivalent: Bool) {
        let rule = rule(value)
        #expect(!rule.isDefault)
        #expect(rule.equivalent(first, second) == isEquivalent)
        #expect(rule.equivalent(second, first) == isEquivalent)
        #expect((rule.normalizedQuery(first) == rule.normalizedQuery(second)) == isEquivalent)
    }

    @Test func writesTheCanonicalForm() {
        #expect(rule("key-order").normalizedQuery("b=2&a=x+y&&c&a=%c3%a9") == "a=x+y&a=%C3%A9&b=2&c=")
        #expect(rule("params=(\"u\")").normalizedQuery("b&u=1&a") == "b=&a=")
        #expect(rule("except=()").normalizedQuery("b&u=1&a") == nil)
    }

    /// Equivalence is reflexive, symmetric and transitive. A canonical form is its own canonical
    /// form. Queries are equivalent exactly if their canonical forms are equal.
    @Test(arguments: [41, 42, 43])
    func equivalenceMatchesCanonicalForms(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "a", "b", "A", "=", "&", "+", "%20", "%61", "%", "%2B", "%26", "%C3%A9", "é", "%ff", "%3D", "1", "",
            "e\u{301}",
        ]
        let rules = [
            NoVarySearch.default, rule("key-order"), rule("params=(\"a\")"), rule("params=(\"a\" \"+\"), key-order"),
            rule("except=(\"a\")"), rule("except=(\"a\" \"b\"), key-order"), rule("except=()"),
        ]
        func query() -> String? {
            let count = Int.random(in: -1...6, using: &generator)
            guard count >= 0 else { return nil }
            return (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }.joined()
        }
        var equivalences = 0
        for _ in 0..<1000 {
            let queries = [query(), query(), query()]
            let rule = rules[Int.random(in: 0..<rules.count, using: &generator)]
            let canonical = queries.map { rule.normalizedQuery($0) }
            let note = "seed \(seed): \(queries), \(rule)"
            for (query, canonical) in zip(queries, canonical) {
                #expect(rule.equivalent(query, query), "\(note)")
                #expect(rule.equivalent(query, canonical), "\(note)")
                #expect(same(rule.normalizedQuery(canonical), canonical), "\(note)")
            }
            for (left, right) in [(0, 1), (1, 2), (0, 2)] {
                let isEquivalent = rule.equivalent(queries[left], queries[right])
                #expect(isEquivalent == rule.equivalent(queries[right], queries[left]), "\(note)")
                #expect(isEquivalent == same(canonical[left], canonical[right]), "\(note)")
                if isEquivalent { equivalences += 1 }
            }
            if rule.equivalent(queries[0], queries[1]), rule.equivalent(queries[1], queries[2]) {
                #expect(rule.equivalent(queries[0], queries[2]), "\(note)")
            }
        }
        #expect(equivalences > 200)
    }

    /// Compares bytes, as keys are compared.
    private func same(_ left: String?, _ right: String?) -> Bool {
        left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    }

    @Test(arguments: [51, 52])
    func parsersNeverTrap(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "key-order", "params", "except", "=", "(", ")", "\"a\"", "\"", "?1", "?", ",", ";", " ", "1", "-", ".", ":",
            "@", "%\"",
            "a", "hit", "ttl", "*", "\\", "999999999999999", "\t", "é",
        ]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...10, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
            let lines = fields([("No-Vary-Search", text), ("Cache-Groups", text), ("Cache-Status", text)])
            _ = NoVarySearch(lines).normalizedQuery(text)
            _ = CachePolicy.private.groups(of: lines)
            _ = CacheOutcome(isHit: true).appended(to: lines)
        }
    }
}
