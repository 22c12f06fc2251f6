import Testing

@testable import HoldfastConfiguration

/// Redirects that never end are found before clients follow them.
@Suite(.timeLimit(.minutes(20))) struct RedirectCheckTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var top = ""
        var routes: [String]
        /// The routes whose redirects never end.
        var endless: [String] = []

        var testDescription: String { "\(top) \(routes)" }
    }

    private static let tls =
        "listen: [127.0.0.1:80, {address: 127.0.0.1:443, tls: {certificates: [{name: a, chain: c, key: k}]}}]"
    private static let proxy = "clients: {trusted: [127.0.0.1]}"

    private static func redirect(
        _ name: String,
        to location: String,
        _ more: String = "host: a.example"
    ) -> String {
        "{name: \(name), \(more), respond: {status: 301, location: \"\(location)\"}}"
    }

    /// A redirect of clients that use one scheme.
    private static func redirect(_ name: String, to location: String, from scheme: String) -> String {
        redirect(name, to: location, "host: a.example, match: {scheme: \(scheme)}")
    }

    /// Mutants: `redirect-to-itself-is-accepted`, `route-before-a-location-is-ignored`.
    @Test(arguments: [
        // To the same paths of the same host.
        Case(routes: [redirect("r", to: "/old", "path: /old")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/old/x?b#c", "path: /old")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/%6Fld/x", "path: /old")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/de{path}", "path: /")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/old{path}", "path: /old")], endless: ["r"]),
        Case(routes: [redirect("r", to: "http://A.example{path}")], endless: ["r"]),
        Case(routes: [redirect("r", to: "http://b.a.example/x", "host: \"*.a.example\"")], endless: ["r"]),
        Case(routes: [redirect("r", to: "http://a.example:8080/x", "host: \"a.example:8080\"")], endless: ["r"]),
        Case(top: "listen: 127.0.0.1:81", routes: [redirect("r", to: "http://a.example:81/")], endless: ["r"]),
        // Away from them.
        Case(routes: [redirect("r", to: "/new", "path: /old")]),
        Case(routes: [redirect("r", to: "/older", "path: /old")]),
        Case(routes: [redirect("r", to: "/new{path}", "path: /old")]),
        Case(routes: [redirect("r", to: "http://www.a.example{path}")]),
        Case(routes: [redirect("r", to: "http://a.example:9000{path}")]),
        // The name of another server, or of this one: only a host says it.
        Case(routes: [redirect("r", to: "http://b.example{path}", "path: /")]),
        // An earlier route takes the location.
        Case(routes: ["{path: /de, origin: \"http://b\"}", redirect("r", to: "/de{path}", "path: /")]),
        Case(routes: ["{path: /de, respond: {status: 404}}", redirect("r", to: "/de{path}", "path: /")]),
        // One route leads to the next.
        Case(
            routes: [redirect("r", to: "/b", "path: /a"), redirect("s", to: "/a", "path: /b")],
            endless: ["r", "s"]
        ),
        Case(
            routes: [redirect("r", to: "/b", "path: /a"), redirect("s", to: "http://c.example/", "path: /b")]
        ),
        // Conditions: the client sends its cookies and fields again, and the query if it is kept.
        Case(routes: [redirect("r", to: "/x", "match: {cookie: [a]}")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/x{query}", "match: {query: [a]}")], endless: ["r"]),
        Case(routes: [redirect("r", to: "/x", "match: {query: [a]}")]),
        // By scheme.
        Case(top: tls, routes: [redirect("r", to: "https://a.example{path}")], endless: ["r"]),
        Case(top: tls, routes: [redirect("r", to: "https://a.example{path}", from: "http")]),
        Case(top: proxy, routes: [redirect("r", to: "https://a.example{path}", from: "http")]),
        Case(
            top: tls,
            routes: [
                redirect("r", to: "https://a.example/", from: "http"),
                redirect("s", to: "http://a.example/", from: "https"),
            ],
            endless: ["r", "s"]
        ),
        // Without TLS, each request counts as http.
        Case(routes: [redirect("r", to: "https://a.example{path}", from: "http")], endless: ["r"]),
        Case(routes: [redirect("r", to: "https://a.example{path}", "match: {scheme: http}")], endless: ["r"]),
        Case(routes: [redirect("r", to: "https://b.example{path}", from: "http")]),
    ])
    func redirectsThatNeverEndAreRejected(_ row: Case) {
        let routes = (row.routes + ["{host: o.example, origin: \"http://o\"}"]).joined(separator: ", ")
        let yaml = "version: 1\n\(row.top)\nroutes: [\(routes)]\n"
        let found = findings(yaml).filter { $0.contains("never ends") }
        #expect(found.count == row.endless.count, "\(findings(yaml))")
        for name in row.endless { #expect(found.contains { $0.hasPrefix("line 3: route '\(name)': respond: ") }) }
    }

    /// Another server may have the port of https.
    @Test func redirectOfAllRequestsToHTTPSIsAWarning() throws {
        let route = Self.redirect("r", to: "https://a.example{path}{query}")
        let configuration = try Configuration(yaml: "version: 1\nroutes: [\(route)]")
        let warnings = configuration.checkWarnings.map(\.description)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("'clients.trusted'") == true, "\(warnings)")
        let away = try Configuration(yaml: "version: 1\nroutes: [\(Self.redirect("r", to: "/x", "path: /y"))]")
        #expect(away.checkWarnings.isEmpty)
    }

    @Test func everyRouteIsChecked() throws {
        let routes = (0..<Configuration.fixedRouteLimit).map {
            Self.redirect("r\($0)", to: "/p\($0){path}", "path: /p\($0)")
        }
        let found = findings("version: 1\nroutes: [\(routes.joined(separator: ", "))]")
        #expect(found.count == Configuration.fixedRouteLimit)
    }
}
