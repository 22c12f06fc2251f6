import Testing

@testable import HoldfastConfiguration

/// The schemes over which clients reach the routes with an origin.
@Suite(.timeLimit(.minutes(20))) struct ClientSchemeTests {
    private static let tls = "{address: 127.0.0.1:443, tls: {certificates: [{name: a, chain: a.pem, key: a.key}]}}"
    private static let redirect = "{match: {scheme: http}, respond: {status: 301, location: \"https://a.example\"}}"
    private static let origin = "{origin: \"http://127.0.0.1:9\"}"

    private func schemes(_ listen: String, _ routes: [String], _ more: String = "") throws -> Set<String> {
        let text = "version: 1\n\(listen)\nroutes: [\(routes.joined(separator: ", "))]\n\(more)"
        return try Configuration(yaml: text, environment: [:]).clientSchemes
    }

    @Test(
        arguments: [
            ("", ["http"]), ("listen: 127.0.0.1:80", ["http"]), ("listen: [\(tls)]", ["https"]),
            ("listen: [\(tls), 127.0.0.1:80]", ["http", "https"]),
            ("listen: [\(tls), {unix: a.sock}]", ["http", "https"]),
        ] as [(String, Set<String>)]
    )
    func listenersDecide(listen: String, expected: Set<String>) throws {
        #expect(try schemes(listen, [Self.origin]) == expected)
        let trusted = try schemes(listen, [Self.origin], "clients: {trusted: [127.0.0.1]}")
        #expect(trusted == ["http", "https"], "proxies state the scheme")
    }

    @Test func libraryHasNoClients() throws {
        #expect(try Configuration(yaml: "version: 1\nlisten: 127.0.0.1:80\n", environment: [:]).clientSchemes.isEmpty)
    }

    private static func gone(_ conditions: String) -> String { "{\(conditions), respond: {status: 410}}" }

    private static func origin(_ conditions: String) -> String { "{\(conditions), origin: \"http://127.0.0.1:9\"}" }

    /// Mutants: `redirect-of-one-route-hides-all`, `later-redirect-hides-a-route`.
    @Test(
        arguments: [
            ([redirect, origin], ["https"]),
            ([gone("host: a.example, match: {scheme: http}"), origin("host: a.example")], ["https"]),
            ([gone("match: {scheme: https}"), origin], ["http"]),
            ([origin("path: /a"), redirect, origin], nil),
            ([gone("path: /old"), origin], nil),
            ([gone("host: a.example, match: {scheme: http}"), origin], nil),
            (
                [
                    gone("host: a.example, match: {scheme: http}"), origin("host: a.example"),
                    origin("host: b.example"),
                ], nil
            ),
            ([gone("match: {scheme: http, query: {a: b}}"), origin], nil),
        ] as [([String], Set<String>?)]
    )
    func schemeWithoutAnOriginDoesNotCount(routes: [String], expected: Set<String>?) throws {
        let listen = "listen: [\(Self.tls), 127.0.0.1:80]"
        #expect(try schemes(listen, routes) == expected ?? ["http", "https"])
        let trusted = try schemes(listen, routes, "clients: {trusted: [192.0.2.1]}")
        #expect(trusted == ["http", "https"], "proxies state the scheme")
    }
}
