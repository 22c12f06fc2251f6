import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Rules that lift the directive because of which responses to requests with credentials are
/// shared. docs/attacks.md, 77
@Suite(.timeLimit(.minutes(20))) struct SharingWarningTests {
    @Test(
        arguments: [
            ("freshness: {lifetime: 5 m}", "freshness.lifetime"),
            ("stale: {ignore: [must-revalidate]}", "stale.ignore"),
            ("stale: {ignore: [s-maxage, no-store]}", "stale.ignore"),
            ("ignore: {directives: [must-revalidate]}", "ignore.directives"),
            ("freshness: {lifetime: 0 s}", nil), ("freshness: {default: 5 m}", nil),
            ("stale: {ignore: [no-cache]}", nil),
            ("freshness: {lifetime: 5 m}\n    store: {per: {field: Authorization}}", nil), ("bypass: true", nil),
            ("freshness: {lifetime: 5 m}\n    cookies: {keep: [session]}", nil),
            ("freshness: {lifetime: 5 m}\n    credentials: none", nil),
        ] as [(String, String?)]
    )
    func namesTheSetting(_ settings: String, setting: String?) throws {
        let configuration = try Configuration(
            yaml: "version: 1\nrules:\n  - name: shop\n    \(settings)\n",
            file: "f"
        )
        let warnings = configuration.rules.sharingWarnings
        #expect(warnings.map(\.setting) == (setting.map { [$0] } ?? []), "\(warnings)")
        guard let warning = warnings.first else { return }
        #expect("\(warning)".hasPrefix("f:4: rule 'shop': \(setting ?? ""): With this rule, "), "\(warning)")
        #expect("\(warning)".contains("'public'") && "\(warning)".hasSuffix("set 'store.per'."), "\(warning)")
    }

    @Test func rulesWithTheSameEffectGetOneWarning() throws {
        let rules = """
            version: 1
            rules:
              - {name: a, match: {url: "/a"}, freshness: {lifetime: 5 m}}
              - {name: b, match: {url: "/b"}, stale: {ignore: [must-revalidate]}}
              - {name: c, match: {url: "/c"}, freshness: {lifetime: 1 h}}
              - {name: d, match: {url: "/d"}, freshness: {lifetime: 1 d}}
            """
        let warnings = try Configuration(yaml: rules, file: "f").rules.sharingWarnings.map { "\($0)" }
        #expect(warnings.count == 2, "\(warnings)")
        #expect(warnings.first?.hasPrefix("f:3: rule 'a': freshness.lifetime: With this rule, ") == true)
        #expect(warnings.first?.hasSuffix(" The same applies to 2 other rules.") == true, "\(warnings)")
        #expect(warnings.last?.hasPrefix("f:4: rule 'b': stale.ignore: ") == true, "\(warnings)")
        #expect(warnings.last?.hasSuffix(" set 'store.per'.") == true, "\(warnings)")
    }
}
