import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// `rewrite` of a route.
@Suite(.timeLimit(.minutes(20))) struct RewriteSettingTests {
    private func route(_ rewrite: String) throws -> Configuration.Route {
        let setting = rewrite.isEmpty ? "" : ", rewrite: \(rewrite)"
        let file = try Configuration(yaml: "version: 1\nroutes:\n  - {origin: \"https://a\"\(setting)}")
        return try #require(file.routes.first)
    }

    @Test(
        arguments: [
            ("", Configuration.Rewriting(), "true", nil), ("true", Configuration.Rewriting(), "true", nil),
            ("false", .none, "false", nil), ("off", .none, "false", nil),
            ("{location: false}", .none, "false", nil), ("{}", Configuration.Rewriting(), "true", nil),
            (
                "{bodies: [Text/HTML, application/json, text/html]}",
                Configuration.Rewriting(bodies: ["text/html", "application/json"]), "true",
                "[text/html, application/json]"
            ),
            (
                "{location: false, bodies: text/html}", Configuration.Rewriting(location: false, bodies: ["text/html"]),
                "false", "[text/html]"
            ),
        ] as [(String, Configuration.Rewriting, String, String?)]
    )
    func readsItsForms(text: String, expected: Configuration.Rewriting, location: String, bodies: String?) throws {
        let file = try Configuration(
            yaml: "version: 1\nroutes:\n  - {origin: \"https://a\"\(text.isEmpty ? "" : ", rewrite: \(text)")}"
        )
        #expect(file.routes.first?.rewriting == expected)
        let settings = try #require(file.effective.routes.first).settings
        let shown = settings.filter { $0.name.hasPrefix("rewrite.") }
        #expect(shown.map(\.name) == ["rewrite.location", "rewrite.bodies"])
        #expect(shown.map(\.value) == [location, bodies])
        #expect(shown.map(\.isDefault) == [location == "true", bodies == nil])
    }

    @Test(arguments: [
        ("packages", "Expected false, or settings ('location', 'bodies'), not 'packages'."),
        ("[text/html]", "Expected false, or settings ('location', 'bodies'), not a list."),
        ("{body: [text/html]}", "'body' is unknown. Known names: 'location', 'bodies'."),
        ("{location: maybe}", "'location': Expected true or false, not 'maybe'."),
        (
            "{bodies: ['text/*']}",
            "'text/*' is not a media type such as 'text/html'. Stars and parameters are not allowed."
        ),
        (
            "{bodies: ['text/html; charset=utf-8']}",
            "'text/html; charset=utf-8' is not a media type such as 'text/html'. Stars and parameters are not allowed."
        ),
        (
            "{bodies: []}",
            "The list is empty. Add media types such as 'text/html', or remove the setting."
        ),
        (
            "{bodies: [\((0...32).map { "a/\($0)" }.joined(separator: ", "))]}",
            "There are 33 media types. The limit is 32. Remove some."
        ),
    ])
    func rejectsOtherValues(text: String, message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try route(text) }
        #expect(error.findings.map(\.setting) == ["rewrite"])
        #expect(error.findings.map(\.message) == [message])
        #expect(error.findings.map(\.line) == [3])
    }
}
