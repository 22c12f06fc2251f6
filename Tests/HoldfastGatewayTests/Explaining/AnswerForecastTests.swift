import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import HoldfastTesting
import Logging
import NIOCore
import Testing

@testable import HoldfastGateway

/// The responses that a gateway makes without the cache, compared with what tools forecast.
@Suite(.timeLimit(.minutes(20)))
struct AnswerForecastTests {
    /// A request, and the setting that decides about it; `nil` if it reaches the cache.
    struct Row: Sendable {
        var host = "shop.test"
        var path: String
        var fields: [(name: String, value: String)] = []
        var status: Int?
        var setting: String?
        var route: String?
    }

    private static let file = """
        version: 1
        health: {path: /healthz, live: /livez, ready: /readyz}
        clients: {deny: [192.0.2.0/24]}
        limits: {requests: {rate: 1/h, burst: 1000}}
        routes:
          - {name: old, host: shop.test, path: /old, respond: {status: 301, location: "https://www.shop.test{path}{query}"}}
          - {name: teapot, host: shop.test, match: {field: {x-tea: ["yes"]}}, respond: {status: 418, body: short}}
          - {name: staff, host: shop.test, path: /staff, origin: "ORIGIN", clients: {allow: [10.0.0.0/8]}}
          - {name: slow, host: shop.test, path: /slow, origin: "ORIGIN", limits: {requests: {rate: 1/h, burst: 1}}}
          - {name: shop, host: shop.test, path: /shop, origin: "ORIGIN"}
        """

    private static let rows: [Row] = [
        Row(path: "/healthz?x", setting: "health.path"),
        Row(host: "other.test", path: "/livez", setting: "health.live"),
        Row(path: "/readyz", setting: "health.ready"),
        Row(path: "/old/a?b=c", status: 301, setting: "respond", route: "route 'old'"),
        Row(path: "/shop", fields: [("X-Tea", "yes")], status: 418, setting: "respond", route: "route 'teapot'"),
        Row(path: "/staff", status: 403, setting: "clients.allow", route: "route 'staff'"),
        Row(host: "other.test", path: "/shop", status: 421, setting: "routes"),
        Row(path: "/other", status: 404, setting: "routes"),
        Row(path: "/shop/%2e%2E/staff", status: 400, setting: "routes"),
        Row(path: "/shop/a"), Row(path: "/slow"),
    ]

    private func with(_ body: (RunningGateway) async throws -> Void) async throws {
        try await RawOrigin.with(respond: { _ in .ok("origin") }) { origin in
            let yaml = Self.file.replacing("ORIGIN", with: origin.url)
            let made = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml))
            try await RunningGateway.with(
                origin: origin.url,
                configure: { configuration in
                    let (listeners, timeouts) = (configuration.listeners, configuration.timeouts)
                    configuration = made
                    (configuration.listeners, configuration.timeouts) = (listeners, timeouts)
                },
                configureTransport: { $0.routes = made.routes }
            ) { try await body($0) }
        }
    }

    private static func request(_ row: Row, from client: String? = "127.0.0.1") throws -> AnswerForecast.Request {
        var request = AnswerForecast.Request(target: try #require(TargetURI(verbatim: "http://\(row.host)\(row.path)")))
        for (name, value) in row.fields {
            request.fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        request.client = client
        return request
    }

    /// Mutants: `forecast-takes-a-token`, `forecast-forgets-fixed-routes`,
    /// `forecast-forgets-checks-of-routes`.
    @Test(arguments: EitherClient.Kind.allCases) func answerIsWhatClientsGet(_ kind: EitherClient.Kind) async throws {
        try await with { gateway in
            try await EitherClient.with(kind, port: gateway.port) { client in
                for row in Self.rows {
                    let asked = try Self.request(row)
                    var answer: GatewayAnswer?
                    for _ in 0..<3 {
                        answer = gateway.server.forecast.result(for: asked, at: .now()).answer
                        #expect(answer?.setting == row.setting && answer?.status == row.status, "\(row)")
                        #expect(answer?.route == row.route, "\(row)")
                    }
                    let request = EitherClient.Request(target: row.path, host: row.host, fields: row.fields)
                    let got = try await client.ask(request)
                    #expect(got.status == row.status ?? 200, "\(row)")
                    if let code = answer?.code { #expect(got.text.contains("problem:\(code)\""), "\(row)") }
                    #expect(got.field("location") == answer?.location, "\(row)")
                }
            }
        }
    }

    @Test func rateThatIsUsedUpIsNamed() async throws {
        try await with { gateway in
            let row = Row(path: "/slow")
            try await EitherClient.with(.http1, port: gateway.port) { client in
                let statuses = [
                    try await client.ask(.init(target: row.path, host: row.host)).status,
                    try await client.ask(.init(target: row.path, host: row.host)).status,
                ]
                #expect(statuses == [200, 429])
            }
            let forecast = gateway.server.forecast
            let answer = forecast.result(for: try Self.request(row), at: .now()).answer
            #expect(answer?.setting == "limits.requests" && answer?.status == 429 && answer?.route == "route 'slow'")
            let other = forecast.result(for: try Self.request(row, from: "198.51.100.1"), at: .now())
            #expect(other.answer == nil)
            #expect(other.notes.contains { $0.contains("more than 1/h gets 429 ('limits.requests' of route 'slow')") })
        }
    }

    @Test(arguments: [("10.0.0.1", nil), ("198.51.100.1", 405), (nil, nil)] as [(String?, Int?)])
    func purgeIsNeverForwarded(client: String?, status: Int?) throws {
        let yaml = Self.file.replacing("ORIGIN", with: "http://origin.test")
        var configuration = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml))
        configuration.purgers = [AddressRange("10.0.0.0/8")].compactMap(\.self)
        let forecast = AnswerForecast(
            configuration,
            rulesHavePaths: false,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        var asked = try Self.request(Row(path: "/shop"), from: client)
        asked.method = try #require(HTTPRequest.Method("PURGE"))
        let answer = forecast.result(for: asked, at: .now()).answer
        #expect(answer?.setting == "clients.purgers" && answer?.status == status)
    }

    /// A gateway that has served nothing: the same rules, from a file alone.
    @Test func clientDecidesAboutLists() throws {
        let yaml = Self.file.replacing("ORIGIN", with: "http://origin.test")
        let configuration = try GatewayConfiguration(HoldfastConfiguration.Configuration(yaml: yaml))
        let forecast = AnswerForecast(
            configuration,
            rulesHavePaths: false,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        for (client, path, setting) in [
            ("192.0.2.7", "/shop", "clients.deny"), ("192.0.2.7", "/healthz", "clients.deny"),
            ("198.51.100.1", "/staff", "clients.allow"), ("10.1.2.3", "/staff", nil), ("unix", "/shop", nil),
            (nil, "/staff", nil), (nil, "/old", "respond"),
        ] as [(String?, String, String?)] {
            let result = forecast.result(for: try Self.request(Row(path: path), from: client), at: .now())
            #expect(result.answer?.setting == setting, "\(client ?? "") \(path)")
            let isOpen = client == nil && path == "/staff"
            #expect(result.notes.contains { $0.contains("some clients get 403") } == (client == nil), "\(path)")
            #expect(result.notes.contains { $0.contains("('clients' of route 'staff')") } == isOpen, "\(path)")
        }
    }
}
