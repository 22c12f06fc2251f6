import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// An endpoint's settings compared with the client's and the call's, in the ways that
/// ``EndpointSettingsTests`` leaves out: streams, lists, and the store's listing.
@Suite(.timeLimit(.minutes(20))) struct EndpointOverridesTests {
    private static let url = "https://a.example"
    /// Its parameter is named `member`, so the name alone does not make it a secret.
    private static let secret = "s3cr3tvalue"

    private struct Particular: Endpoint {
        typealias Response = String
        var task = HTTPTask.plain
        var acceptedStatuses = AcceptedStatuses.successful
        var retry: RetryPlan?
        var timeout: Duration?
        var secrets = Secrets()
        var baseURL: String { EndpointOverridesTests.url }
        var path: String { "/x" }
    }

    private struct Reason: Decodable, Sendable {
        var reason: String
    }

    /// Mutants: 200 to 299 for all endpoints; these beside the endpoint's; a check before storing
    /// that accepts them.
    @Test func onlyAcceptedStatusesAreDecodedAndStored() async throws {
        try await withTestClient { test in
            let endpoint = Particular(acceptedStatuses: [404])
            test.transport.script(Self.url + "/x", .fresh(#"{"reason":"found"}"#))
            test.transport.script(Self.url + "/x", .status(.notFound, #"{"reason":"moved"}"#))
            await expect(.status) { _ = try await test.client.fetch(endpoint, as: Reason.self) }
            let stored = try await test.client.stored(Particular())
            #expect(stored == nil)
            let missing = try await test.client.fetch(endpoint, as: Reason.self)
            #expect(missing.value.reason == "moved" && missing.status == .notFound)
        }
    }

    /// Mutants: the client's policy if it allows more retries; the endpoint's policy although the
    /// call has one.
    @Test(arguments: [0, 1]) func endpointMayRetryLessThanClientAndCall(limit: Int) async throws {
        try await withTestClient(.init(retry: RetryPlan(limit: 3, delay: .zero))) { test in
            test.transport.script(Self.url + "/x", repeating: .status(.serviceUnavailable))
            let endpoint = Particular(retry: RetryPlan(limit: limit, delay: .zero))
            await expect(.status) { _ = try await test.client.fetch(endpoint) }
            #expect(test.transport.requests.count == limit + 1)
            let call = test.client.call(endpoint).with { $0.retry = RetryPlan(limit: 2, delay: .zero) }
            await expect(.status) { _ = try await call.fetch() }
            #expect(test.transport.requests.count == limit + 1 + 3)
        }
    }

    /// Mutant: only the call's limit, in `CachingClient.network(_:after:)`.
    @Test(arguments: [true, false]) func endpointTimeoutEndsAStream(isStored: Bool) async throws {
        try await withTestClient { test in
            if isStored {
                test.transport.script(Self.url + "/x", .fresh("stored"))
                _ = try await test.client.fetch(Particular())
            }
            test.transport.script(Self.url + "/x", .ok("late", beforeHead: Gate()))
            // A child task, so that it ends if the test takes too long.
            async let recorded = test.client.startWith(Particular(timeout: .seconds(5))).recorded()
            await test.transport.waitForRequests(isStored ? 2 : 1)
            // The call's limit, and the engine's.
            await test.sleeper.sleepers(atLeast: 2)
            test.sleeper.advance(by: .seconds(5))
            let ended = await recorded
            #expect(ended.failure?.code == .timeout)
            #expect(ended.values == (isStored ? ["stored"] : []))
        }
    }

    /// Mutants: the endpoint's secrets, the client's, or both are not passed to the request.
    @Test(arguments: [true, false]) func secretIsNotInTheStoresListing(isEndpoints: Bool) async throws {
        let named = Secrets(parameters: ["member"])
        var endpoint = Particular(task: .query(["page": 1]))
        var defaults = RequestDefaults()
        if isEndpoints {
            endpoint.task = .query(["member": .string(Self.secret), "page": 1])
            endpoint.secrets = named
        } else {
            defaults.parameters = ["member": .string(Self.secret)]
            defaults.secrets = named
        }
        try await withTestClient(.init(defaults: defaults)) { [endpoint] test in
            // The secret is sent.
            test.transport.script(Self.url + "/x?member=\(Self.secret)&page=1", .fresh("content"))
            _ = try await test.client.fetch(endpoint)
            var listed: [StoreEntry] = []
            for try await entry in test.store.entries() { listed.append(entry) }
            #expect(listed.compactMap(\.redactedURI) == [Self.url + "/x?page=1"])
            #expect(listed.compactMap(\.partition) == [.credentials])
            let again = try await test.client.fetch(endpoint)
            #expect(again.source == .store)
        }
    }

    private enum Weather: Endpoint {
        case today
        var baseURL: String { "https://weather.example" }
        var path: String { "/today" }
    }

    private enum Diary: Endpoint {
        case today
        var baseURL: String { "https://diary.example" }
        var path: String { "/today" }
        var strategy: SingleValueStrategy { .storedFirst }
    }

    /// Mutants: `AnyEndpoint` without the URL or the strategy of its base; one strategy for a whole
    /// list.
    @Test func erasedEndpointIsStoredAndRequestedAsItsBase() async throws {
        try await withTestClient { test in
            test.transport.script("https://weather.example/today", .fresh("rain"), .fresh("sun"))
            test.transport.script("https://diary.example/today", .fresh("entry"))
            let endpoints = [AnyEndpoint(Weather.today), AnyEndpoint(Diary.today)]
            var first: [Data] = []
            for result in try await test.client.fetch(all: endpoints) { first.append(try result.get().value) }
            #expect(first == [Data("rain".utf8), Data("entry".utf8)])
            // The keys are those of the endpoints themselves.
            let weather = try await test.client.stored(Weather.today, as: String.self)
            let diary = try await test.client.stored(Diary.today, as: String.self)
            #expect(weather?.value == "rain" && diary?.value == "entry")
            test.clock.advance(by: .seconds(61))
            var later: [Emission<Data>] = []
            for result in try await test.client.fetch(all: endpoints) { later.append(try result.get()) }
            #expect(later.map(\.source) == [.network, .store])
            #expect(later.map(\.value) == [Data("sun".utf8), Data("entry".utf8)])
        }
    }

    /// Notes the values that it decodes.
    private struct NotingDecoder: ResponseDecoder {
        let decoded: Events
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            decoded.append(String(decoding: data, as: UTF8.self))
            return try JSONDecoder().decode(type, from: data)
        }
    }

    private struct Number: Endpoint {
        typealias Response = Int
        var baseURL: String { EndpointOverridesTests.url }
        var path: String { "/n" }
    }

    /// Mutants: a stream that reads each change at once; a stream that keeps all changes for later.
    @Test func slowReaderGetsOnlyTheNewestValue() async throws {
        let decoded = Events()
        try await withTestClient(.init(decoder: NotingDecoder(decoded: decoded))) { test in
            for number in 1...5 { test.transport.script(Self.url + "/n", .fresh("\(number)")) }
            _ = try await test.client.fetch(Number())
            var stream = test.client.call(Number()).with { $0.followsStore = true }.request().makeAsyncIterator()
            let stored = try await stream.next()
            #expect(stored?.value == 1 && stored?.source == .store)
            // The network's response is fetched ahead. Later values come from other calls, which do
            // not decode them.
            await test.transport.waitForRequests(2)
            for _ in 3...5 {
                while test.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
                var request = try test.client.request(for: Number())
                request.preference = .networkOnly
                _ = try await test.client.respond(to: request).body.collect(upTo: 100)
            }
            for _ in 0..<100 { await Task.yield() }
            #expect(Set(decoded.all).isDisjoint(with: ["3", "4", "5"]))
            let fresh = try await stream.next()
            #expect(fresh?.value == 2 && fresh?.source == .network)
            let newest = try await stream.next()
            #expect(newest?.value == 5 && newest?.source == .store)
            #expect(decoded.all.filter { $0 != "1" } == ["2", "5"])
        }
    }
}
