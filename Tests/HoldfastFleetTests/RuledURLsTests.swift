import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import Testing

@testable import FleetTier
@testable import HoldfastFleet

/// Purges of URLs at a service, which has rules and no routes.
@Suite(.timeLimit(.minutes(20))) struct RuledURLsTests {
    @Test func purgeCoversTheURLThatOwnRulesMakeOfIt() throws {
        let file = try Configuration(
            yaml: """
                version: 1
                rules:
                  - {match: {url: "https://a.example/feed"}, ignore: {parameters: [utm]}}
                """
        )
        func localScopes(_ scope: InvalidationScope) -> [InvalidationScope] {
            FleetInvalidation(
                id: .random(),
                scope: scope,
                effect: .mark(.unspecified),
                issuedAt: Timestamp(milliseconds: 0)
            )
            .resolved(by: RuledURLs(rules: file.rules)).localScopes
        }
        let stored = InvalidationScope.target(try TargetURI("https://a.example/feed?a=1"))
        #expect(localScopes(.target(try TargetURI("https://a.example/feed?utm=2&a=1"))) == [stored])
        #expect(localScopes(stored).isEmpty)
        #expect(localScopes(.prefix(try TargetPrefix("https://a.example/feed?utm=2"))).isEmpty)
    }
}
