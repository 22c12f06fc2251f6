import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Synchronization
import TestSupport
import Testing

/// Endpoints, tasks, parameter encoders and a router.
@Suite(.timeLimit(.minutes(20))) struct RouterTests {
    /// An endpoint with base URL, path, method, task and headers.
    private enum Movies: Endpoint {
        case newest(page: Int)
        case rate(Int)
        case tag(Int, [String])

        typealias Response = Echo
        var baseURL: String { "" }
        var path: String {
            switch self {
            case .newest: "/echo/now_playing"
            case .rate(let id), .tag(let id, _): "/echo/\(id)"
            }
        }
        var method: HTTPRequest.Method {
            switch self {
            case .newest: .get
            case .rate: .post
            case .tag: .put
            }
        }
        var task: HTTPTask {
            switch self {
            case .newest(let page): .query(["page": .init(page)])
            case .rate: .parameters(url: ["guest": true], body: ["value": 8.5])
            case .tag(_, let tags):
                .parameters(
                    url: ["n": .init(tags.count)],
                    body: ["tags": .array(tags.map { .string($0) })],
                    bodyEncoder: LineEncoder(),
                    headers: [.ifMatch: "*"]
                )
            }
        }
        var headers: HTTPFields { [.acceptLanguage: "de"] }
    }

    /// An encoder of the application's own.
    private struct LineEncoder: ContentEncoder {
        var contentType: String { "text/plain" }
        func encode(_ value: any Encodable) throws -> Data {
            Data("\((value as? RequestParameters)?.values.count ?? 0) line".utf8)
        }
    }

    private func configuration(_ url: String, _ name: String = "qa") -> CachingClient.Configuration {
        .init(
            defaults: RequestDefaults(parameters: ["api_key": "k3y"], secrets: Secrets(parameters: ["api_key"])),
            environment: ServerEnvironment(name, baseURL: url)
        )
    }

    private func run(_ body: (CachingClient, ClientFixture) async throws -> Void) async throws {
        try await ClientFixture.run { fixture in
            let folder = fixture.folder + "-b"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let client = try await ClientFixture.open(folder, fixture.clock, configuration(fixture.origin.baseURL))
            let result: Result<Void, any Error>
            do { result = .success(try await body(client, fixture)) } catch { result = .failure(error) }
            try await client.close()
            try result.get()
        }
    }

    // A task is plain, has body and URL parameters, or has additional headers too. The client adds
    // its API key to every request.
    @Test func tasksArePlainOrHaveParametersAndHeaders() async throws {
        try await run { client, _ in
            let newest = try await client.fetch(Movies.newest(page: 2)).value
            #expect(newest.target == "/echo/now_playing?api_key=k3y&page=2" && newest.body.length == 0)
            #expect(newest["Content-Type"] == [] && newest["Accept-Language"] == ["de"])
            let rated = try await client.fetch(Movies.rate(7)).value
            #expect(rated.method == "POST" && rated.target == "/echo/7?api_key=k3y&guest=true")
            #expect(rated["Content-Type"] == ["application/json"] && rated.body.length == #"{"value":8.5}"#.utf8.count)
            let tagged = try await client.fetch(Movies.tag(7, ["a", "b"])).value
            #expect(tagged.method == "PUT" && tagged.target == "/echo/7?api_key=k3y&n=2")
            #expect(tagged["Content-Type"] == ["text/plain"] && tagged["If-Match"] == ["*"])
            #expect(tagged["Accept-Language"] == ["de"])
        }
    }

    // Encoders set `Content-Type` unless the request sets it.
    @Test func encodersSetContentTypeUnlessItIsSet() async throws {
        try await ClientFixture.run { fixture in
            var request = AnyRequest<Echo>(baseURL: fixture.origin.baseURL, path: "/echo", method: .post)
            request.task = .json(["a": 1])
            let echo = try await fixture.client.fetch(request).value
            #expect(echo["Content-Type"] == ["application/json"])
            request.headers = [.contentType: "application/vnd.a+json"]
            #expect(try await fixture.client.fetch(request).value["Content-Type"] == ["application/vnd.a+json"])
        }
    }

    // Errors: parameters are missing, encoding fails, the URL is missing.
    @Test func unsendableRequestsNameTheReason() async throws {
        try await ScriptedClient.run { fixture in
            let url = ScriptedClient.url
            var form = AnyRequest<Data>(baseURL: url, path: "/x", method: .post, task: .urlEncoded([:]))
            await expect(.parametersMissing) { _ = try await fixture.client.fetch(form) }
            form.task = .json(["a": .number(.nan)])
            await expect(.encodingFailed) { _ = try await fixture.client.fetch(form) }
            form.task = .graphQL(GraphQLOperation(" "))
            await expect(.parametersMissing) { _ = try await fixture.client.fetch(form) }
            await expect(.urlMissing) { _ = try await fixture.client.fetch(AnyRequest<Data>(baseURL: "", path: "/x")) }
            await expect(.invalidURL) {
                _ = try await fixture.client.fetch(AnyRequest<Data>(baseURL: "ftp://a.example", path: "/x"))
            }
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    /// A router that is generic over the endpoint, with `request` and `cancel`.
    private final class Router<Route: Endpoint> {
        private let client: CachingClient
        private var subscription: StreamSubscription?
        init(_ client: CachingClient) { self.client = client }
        func request(
            _ route: Route,
            _ completion: @escaping @Sendable (Result<Emission<Route.Response>, HoldfastError>) -> Void
        ) {
            subscription = route.on(client).results(completion)
        }
        func cancel() { subscription?.cancel() }
        func finished() async { await subscription?.finished() }
    }

    @Test func routerRequestsAndCancels() async throws {
        try await run { client, fixture in
            let (router, events, gate) = (Router<Movies>(client), Events(), OriginGate())
            router.request(.newest(page: 1)) { events.append((try? $0.get().value.method) ?? "failed") }
            await router.finished()
            #expect(events.all == ["GET"])
            fixture.origin.force(.hold(gate))
            router.request(.newest(page: 2)) { _ in events.append("called") }
            while fixture.origin.requestCount < 2, !Task.isCancelled { await Task.yield() }
            router.cancel()
            await fixture.origin.waitUntilCancelled()
            await router.finished()
            #expect(events.all == ["GET"])
            gate.open()
        }
    }

    // Environments choose the base URL.
    @Test(arguments: ["qa", "staging", "production"]) func environmentsChooseTheBaseURL(name: String) async throws {
        let url = "https://\(name).example/v3/"
        try await ScriptedClient.run(configuration(url, name)) { fixture in
            fixture.transport.script(url + "feed?api_key=k3y", .fresh("1"))
            _ = try await fixture.client.fetch(AnyRequest<Data>(baseURL: "", path: "/feed"))
            #expect(fixture.transport.requests.first?.authority == "\(name).example")
        }
    }

    // One enum of outcomes: the class of the status, no data, or undecodable.
    @Test(
        arguments: [
            ("/moments?userID=harbour", .success), ("/status/401", .authenticationError),
            ("/status/407", .authenticationError),
            ("/status/400", .badRequest), ("/status/404", .badRequest), ("/status/410", .outdated),
            ("/status/426", .outdated),
            ("/status/500", .failed), ("/status/503", .failed), ("/empty", .noData), ("/status/204", .noData),
            ("/html", .undecodable), ("/status/304", .redirection),
        ] as [(String, ResponseOutcome)]
    )
    func everyResponseHasOneOutcome(path: String, outcome: ResponseOutcome) async throws {
        try await ClientFixture.run { fixture in
            let feed = AnyRequest<MomentsDetails>(baseURL: fixture.origin.baseURL, path: path)
            do throws(HoldfastError) {
                let emission = try await fixture.client.fetch(feed)
                #expect(emission.status.outcome == outcome)
            } catch {
                #expect(error.outcome == outcome, "\(error)")
            }
        }
    }

    // A network logger for requests and responses is a plugin.
    @Test func networkLoggerIsAPlugin() async throws {
        let log = CapturedLog()
        let logger = NetworkLogger(log.logger(), .init(form: .text))
        var configuration = configuration(ScriptedClient.url)
        try await ScriptedClient.run(configuration) { fixture in
            fixture.script("/feed?api_key=k3y", .fresh("1"))
            _ = try await fixture.client.fetch(AnyRequest<Data>(baseURL: "", path: "/feed"))
            #expect(log.lines.isEmpty)
        }
        configuration.plugins = [logger]
        try await ScriptedClient.run(configuration) { fixture in
            fixture.script("/feed?api_key=k3y", .fresh("1"))
            _ = try await fixture.client.fetch(AnyRequest<Data>(baseURL: "", path: "/feed"))
        }
        #expect(log.lines.count == 3 && log.lines[0].hasPrefix("→ GET") && log.lines[1].hasPrefix("← GET"))
        #expect(!log.text.contains("k3y") && log.lines[1].contains("200"))
    }
}
