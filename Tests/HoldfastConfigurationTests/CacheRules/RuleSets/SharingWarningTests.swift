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
        #expect("\(warning)".hasPrefix("f:4: rule 'shop': \(setting ?? ""): It "), "\(warning)")
        #expect("\(warning)".contains("'public' still does."))
    }
}
