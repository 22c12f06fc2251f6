import HTTPCacheSemantics
import HoldfastConfiguration
import Testing

@testable import GatewayRouting
@testable import HoldfastGateway

/// Which routes lead clients to stored responses, as values.
@Suite(.timeLimit(.minutes(20))) struct ClientRoutesTests {
    private static let origin = #"{origin: "http://o.test"}"#
    private static let fixed = "{path: /n, respond: {status: 404}}"

    /// Mutants: `check-forgets-routes-that-respond`, `check-forgets-the-order-of-routes`.
    @Test(
        arguments: [
            ([fixed, origin], "http://o.test/n/x", false),
            ([fixed, origin], "http://o.test/m/x", true),
            // Another route with an origin comes first.
            ([#"{host: a.test, origin: "http://o.test"}"#, fixed], "http://o.test/n/x", true),
            (["{host: a.test, respond: {status: 404}}", origin], "http://o.test/x", true),
            (["{match: {scheme: https}, respond: {status: 404}}", origin], "http://o.test/x", true),
            (["{match: {scheme: http}, path: /n, respond: {status: 404}}", origin], "http://o.test/n", false),
            // Paths are those of clients.
            (
                ["{path: /v1/old, respond: {status: 410}}", #"{path: /v1, origin: "http://o.test/api"}"#],
                "http://o.test/api/old/x", false
            ),
            (
                ["{path: /v1/old, respond: {status: 410}}", #"{path: /v1, origin: "http://o.test/api"}"#],
                "http://o.test/api/v1/old/x", true
            ),
            ([#"{path: /a, origin: "http://b.test/a"}"#, origin], "http://o.test/a/x", false),
            ([#"{path: /a, origin: "http://b.test/a"}"#, origin], "http://b.test/a/x", true),
            ([#"{path: /a, origin: "http://b.test/a"}"#, origin], "http://o.test/x", true),
            // Clients that write another port are not answered.
            (
                [
                    #"{host: "a.test:80", path: /n, respond: {status: 404}}"#,
                    #"{host: a.test, origin: "http://o.test"}"#,
                ],
                "http://o.test/n", true
            ),
            (
                [
                    "{host: b.t.test, respond: {status: 404}}",
                    #"{host: "*.t.test", origin: "http://o.test", preserve-host: true}"#,
                ],
                "http://b.t.test/x", false
            ),
            (
                [
                    "{host: b.t.test, respond: {status: 404}}",
                    #"{host: "*.t.test", origin: "http://o.test", preserve-host: true}"#,
                ],
                "http://c.t.test/x", true
            ),
        ] as [([String], String, Bool)]
    )
    func clientsReachTargetsOnTheFirstRouteThatMatches(_ routes: [String], _ url: String, isFound: Bool) throws {
        let yaml = "version: 1\nlisten: 127.0.0.1:8080\nroutes:\n" + routes.map { "  - \($0)\n" }.joined()
        let found = try ClientRoutes(of: HoldfastConfiguration.Configuration(yaml: yaml))
        #expect(found.find(try TargetURI(url)) == isFound)
    }
}
