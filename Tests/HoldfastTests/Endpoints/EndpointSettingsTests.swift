import Foundation
import Holdfast
import HoldfastTesting
import TestSupport
import Testing

/// An endpoint's settings override the client's, unless the call sets the same.
@Suite(.timeLimit(.minutes(20))) struct EndpointSettingsTests {
    private static let url = "https://a.example"

    private struct Particular: Endpoint {
        typealias Response = String
        var path = "/x"
        var task = HTTPTask.plain
        var strategy = SingleValueStrategy.standard
        var acceptedStatuses = AcceptedStatuses.successful
        var retry: RetryPlan?
        var timeout: Duration?
        var secrets = Secrets()
        var baseURL: String { EndpointSettingsTests.url }
    }

    /// Mutant: the strategy `standard` for all.
    @Test func callUsesTheEndpointsStrategy() async throws {
        try await withTestClient { test in
            test.transport.script(Self.url + "/x", .fresh("old"), .fresh("new"))
            _ = try await test.client.fetch(Particular())
            test.clock.advance(by: .seconds(3600))
            let stored = try await test.client.fetch(Particular(strategy: .storedFirst))
            #expect(stored.value == "old" && stored.isStale)
            let asked = try await test.client.fetch(Particular(strategy: .storedFirst), .standard)
            #expect(asked.value == "new")
        }
    }

    /// Mutant: 200 to 299 for all.
    @Test func endpointStatusesAreAccepted() async throws {
        try await withTestClient { test in
            test.transport.script(Self.url + "/x", repeating: .status(.notFound, "nobody"))
            let found = try await test.client.fetch(Particular(acceptedStatuses: [200, 404])).value
            #expect(found == "nobody")
            let error = await failure { _ = try await test.client.fetch(Particular()) }
            #expect(error?.code == .status && error?.status == .notFound)
        }
    }

    /// Mutant: the client's policy for all.
    @Test func endpointRetriesOverrideTheClientsAndYieldToTheCalls() async throws {
        try await withTestClient(.init(retry: .never)) { test in
            test.transport.script(Self.url + "/x", repeating: .status(.serviceUnavailable))
            let patient = Particular(retry: RetryPlan(limit: 2, delay: .zero))
            _ = await failure { _ = try await test.client.fetch(patient) }
            #expect(test.transport.requests.count == 3)
            _ = await failure { _ = try await test.client.fetch(Particular()) }
            #expect(test.transport.requests.count == 4)
            _ = await failure { _ = try await test.client.call(patient).with { $0.retry = .never }.fetch() }
            #expect(test.transport.requests.count == 5)
        }
    }

    /// Mutant: the call's limit alone.
    @Test func endpointTimeoutApplies() async throws {
        try await withTestClient { test in
            test.transport.script(Self.url + "/x", .ok("late", beforeHead: Gate()))
            let (client, transport) = (test.client, test.transport)
            let call = Task { try await client.fetch(Particular(timeout: .seconds(5))) }
            await transport.waitForRequests(1)
            await test.sleeper.sleepers(atLeast: 2)
            test.sleeper.advance(by: .seconds(5))
            let result = await call.result
            let error = #expect(throws: HoldfastError.self) { try result.get() }
            #expect(error?.code == .timeout)
        }
    }

    /// The names do not suggest a secret. Mutants: the endpoint's secrets, the client's, or both
    /// are not passed to the request.
    @Test(arguments: [true, false]) func secretsOfEndpointAndClientAreShownNowhere(isEndpoints: Bool) async throws {
        let secret = "s3cr3tvalue"
        var configuration = CachingClient.Configuration()
        var endpoint = Particular(task: .query(["page": 1]))
        if isEndpoints {
            endpoint.task = .query(["appid": .string(secret)])
            endpoint.secrets = Secrets(parameters: ["appid"])
        } else {
            configuration.defaults.parameters = ["appid": .string(secret)]
            configuration.defaults.secrets = Secrets(parameters: ["appid"])
        }
        let folder = try TemporaryFolder()
        let store = try await CacheManager.open(at: folder.store)
        let transport = ScriptedTransport()
        let query = isEndpoints ? "?appid=\(secret)" : "?appid=\(secret)&page=1"
        transport.script(Self.url + "/x" + query, .fresh("content"), .status(.badRequest))
        let client = CachingClient(store: store, transport: transport, configuration: configuration)
        _ = try await client.fetch(endpoint)
        let request = endpoint
        let error = await failure { _ = try await client.fetch(request, .networkOnly) }
        #expect(error?.code == .status && !"\(String(describing: error))".contains(secret))
        #expect(transport.unscripted == [])
        try await client.close()
        try await store.close()
        var files = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.store) {
            guard let bytes = FileManager.default.contents(atPath: folder.store + "/" + name) else { continue }
            #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name)")
            files += 1
        }
        #expect(files > 0)
    }

    private enum Weather: Endpoint {
        case today
        var baseURL: String { "https://weather.example" }
        var path: String { "/today" }
    }

    private enum News: Endpoint {
        case page(Int)
        var baseURL: String { "https://news.example" }
        var path: String { "/page" }
        var task: HTTPTask {
            switch self {
            case .page(let number): .query(["number": .integer(Int64(number))])
            }
        }
    }

    /// Mutant: one target for all erased endpoints.
    @Test func oneClientServesManyEnums() async throws {
        try await withTestClient { test in
            test.transport.script("https://weather.example/today", .fresh("sun"))
            for number in 1...2 {
                test.transport.script("https://news.example/page?number=\(number)", .fresh("news \(number)"))
            }
            let endpoints = [AnyEndpoint(Weather.today), AnyEndpoint(News.page(1)), AnyEndpoint(News.page(2))]
            for source in [CacheResponse.Source.network, .store] {
                var values: [String] = []
                for endpoint in endpoints {
                    let emission = try await test.client.fetch(endpoint, as: String.self)
                    #expect(emission.source == source)
                    values.append(emission.value)
                }
                #expect(values == ["sun", "news 1", "news 2"])
            }
        }
    }

    /// Mutant: a stream that follows the store and reads each change at once.
    @Test func unreadStreamDecodesNothing() async throws {
        struct Number: Endpoint {
            typealias Response = Int
            var baseURL: String { EndpointSettingsTests.url }
            var path: String { "/n" }
        }
        let decoder = CountingDecoder()
        try await withTestClient(.init(decoder: decoder)) { test in
            for number in 1...5 { test.transport.script(Self.url + "/n", .fresh("\(number)")) }
            var stream = test.client.call(Number()).with { $0.followsStore = true }.request().makeAsyncIterator()
            let first = try await stream.next()?.value
            #expect(first == 1 && decoder.count == 1)
            // Each call decoded its own fetch; the stream, which is not read, decodes nothing.
            for _ in 2...5 { _ = try await test.client.fetch(Number(), .networkOnly) }
            for _ in 0..<100 { await Task.yield() }
            #expect(decoder.count == 5)
            let next = try await stream.next()?.value
            #expect(next == 5)
        }
    }
}
