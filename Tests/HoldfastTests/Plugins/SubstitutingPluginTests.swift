import Foundation
import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct SubstitutingPluginTests {
    private let events = Events()
    private static let fresh: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]

    private func configuration(_ plugins: any Plugin...) -> CachingClient.Configuration { .init(plugins: plugins) }

    /// Records its calls, and responds as scripted.
    private struct Substituting: SubstitutingPlugin {
        let events: Events
        var name = ""
        var onFailure: @Sendable (HoldfastError) async throws -> ResponseContent? = { _ in
            ResponseContent(Data("none".utf8))
        }

        func substitute(for failure: HoldfastError, of call: CallInfo) async throws -> ResponseContent? {
            events.append("\(name)\(failure.code)")
            return try await onFailure(failure)
        }
    }

    private var substituting: Substituting { Substituting(events: events) }

    /// Every way to get one value, or several.
    private enum CallKind: CaseIterable {
        case fetch, networkOnly, withoutStore, startWith, onCache, onCacheCallbacks, results, chain, chainedStream

        func emissions(_ client: CachingClient, _ endpoint: PathEndpoint) async throws -> [Emission<String>] {
            switch self {
            case .fetch: return [try await client.fetch(endpoint)]
            case .networkOnly: return [try await client.fetch(endpoint, .networkOnly)]
            case .withoutStore: return try await all(endpoint.on(client).request())
            case .startWith: return try await all(client.startWith(endpoint))
            case .onCache: return try await all(client.onCache(endpoint) { _ in }.request())
            case .onCacheCallbacks:
                return try await called { client.onCache(endpoint) { _ in }.results(onCompleted: {}, $0) }
            case .results: return try await called { client.call(endpoint).results($0) }
            case .chain:
                return [try await client.call(endpoint).then { _ in client.call(endpoint) }.fetch()]
            case .chainedStream:
                return try await all(client.startWith(endpoint).flatMap { _ in client.call(endpoint) })
            }
        }

        private func all(_ stream: EmissionStream<String>) async throws -> [Emission<String>] {
            var emissions: [Emission<String>] = []
            for try await emission in stream { emissions.append(emission) }
            return emissions
        }

        private func called(
            _ start: (@escaping @Sendable (Result<Emission<String>, HoldfastError>) -> Void) -> StreamSubscription
        ) async throws -> [Emission<String>] {
            let (results, continuation) = AsyncStream.makeStream(of: Result<Emission<String>, HoldfastError>.self)
            let subscription = start { continuation.yield($0) }
            await subscription.finished()
            continuation.finish()
            var emissions: [Emission<String>] = []
            for await result in results { emissions.append(try result.get()) }
            return emissions
        }

        /// The calls that this way makes.
        var calls: Int { self == .chain || self == .chainedStream ? 2 : 1 }
    }

    private static let failures: [(TransportError.Code, HoldfastError.Code)] = [
        (.connect, .originUnreachable), (.nameResolution, .originUnreachable), (.connectTimeout, .originUnreachable),
        (.connectionClosed, .originUnreachable), (.other, .transportFailed),
    ]

    @Test func failureWithoutAResponseBecomesAValueInEveryCall() async throws {
        for kind in CallKind.allCases {
            for (cause, code) in Self.failures {
                let events = Events()
                try await ScriptedClient.run(configuration(Substituting(events: events))) { fixture in
                    let endpoint = fixture.get("/x")
                    fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(cause))
                    let emissions = try await kind.emissions(fixture.client, endpoint)
                    #expect(emissions.map(\.value) == ["none"], "\(kind) \(cause)")
                    // The value is not marked as the origin's.
                    for emission in emissions {
                        #expect(emission.source == .substitute && emission.isStale && !emission.isUnchanged)
                        #expect(emission.outcome == CacheOutcome(detail: .substitute))
                    }
                    #expect(events.all == Array(repeating: "\(code)", count: kind.calls), "\(kind) \(cause)")
                    // The value is not stored, either.
                    #expect(try await fixture.client.stored(endpoint) == nil)
                }
            }
        }
    }

    @Test func offlineMissBecomesAValueInEveryCall() async throws {
        for kind in CallKind.allCases {
            let events = Events()
            try await ScriptedClient.run(configuration(Substituting(events: events))) { fixture in
                fixture.client.mode = .offline
                let emissions = try await kind.emissions(fixture.client, fixture.get("/x"))
                #expect(emissions.map(\.value) == ["none"] && emissions.map(\.source) == [.substitute], "\(kind)")
                #expect(events.all == Array(repeating: "offlineMiss", count: kind.calls), "\(kind)")
                #expect(fixture.transport.requests.isEmpty)
            }
        }
    }

    @Test func cutBodyAndTimeoutAreFailuresWithoutAResponse() async throws {
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            fixture.script("/x", .ok("abcdef").truncated(after: 3))
            let broken = try await fixture.client.fetch(fixture.get("/x"))
            #expect(broken.source == .substitute)
            let gate = Gate()
            defer { gate.open() }
            fixture.script("/slow", .ok("a", beforeHead: gate))
            let call = fixture.client.call(fixture.get("/slow")).with { $0.timeout = .seconds(3) }
            async let emission = call.fetch()
            await fixture.transport.waitForRequests(2)
            await fixture.sleeper.waitForDeadline(.seconds(3))
            fixture.sleeper.advance(by: .seconds(3))
            let late = try await emission
            #expect(late.source == .substitute)
        }
        #expect(events.all == ["truncated", "timeout"])
    }

    @Test func pluginIsAskedAfterTheLastRetry() async throws {
        let retry = RetryPlan(limit: 2, delay: .zero)
        try await ScriptedClient.run(.init(retry: retry, plugins: [substituting])) { fixture in
            fixture.script("/x", .failure(.connect), .failure(.connect), .ok("a"))
            let retried = try await fixture.client.fetch(fixture.get("/x"))
            #expect(retried.value == "a" && events.all.isEmpty)
            fixture.script("/y", .failure(.connect), .failure(.connect), .failure(.connect))
            #expect(try await fixture.client.fetch(fixture.get("/y")).value == "none")
            #expect(events.all == ["originUnreachable"] && fixture.transport.requests.count == 6)
        }
    }

    @Test func storedValueOverridesASubstitute() async throws {
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            let (client, endpoint) = (fixture.client, fixture.get("/x"))
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await client.fetch(endpoint)
            fixture.clock.advance(by: .seconds(61))
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(.connect))
            for strategy in [SingleValueStrategy.standard, .networkFirst, .storedFirst] {
                let stored = try await client.fetch(endpoint, strategy)
                #expect(stored.value == "a" && stored.source == .store)
            }
            #expect(events.all.isEmpty)
            #expect(try await client.fetch(endpoint, .networkOnly).source == .substitute)
        }
    }

    @Test func streamKeepsAStoredValueInsteadOfASubstitute() async throws {
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            let (client, endpoint) = (fixture.client, fixture.get("/x"))
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await client.fetch(endpoint)
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(.connect))
            let loud = await client.startWith(endpoint).collected()
            #expect(loud.emissions.map(\.source) == [.store] && loud.failure == .originUnreachable)
            #expect(events.all == ["originUnreachable"])
            let quiet = await client.startWith(endpoint, ifNetworkFails: .endingQuietly).collected()
            #expect(quiet.emissions.map(\.source) == [.store] && quiet.failure == nil)
            #expect(events.all == ["originUnreachable"])
            // A stored value that was left out does not count.
            fixture.clock.advance(by: .seconds(61))
            let skipping = client.call(endpoint).with { $0.staleValues = .skipped }
            let emissions = await skipping.request().collected().emissions
            #expect(emissions.map(\.source) == [.substitute])
        }
    }

    @Test func pluginMayReplaceAFailureInEveryCall() async throws {
        let code = HoldfastError.Code("maintenance")
        let changing = Substituting(events: events) { failure in
            throw HoldfastError(code: code, message: "Back at nine.", cause: failure)
        }
        for kind in CallKind.allCases {
            try await ScriptedClient.run(configuration(changing)) { fixture in
                fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(.connect))
                await expect(code) { _ = try await kind.emissions(fixture.client, fixture.get("/x")) }
            }
        }
        // The same holds after a stored value.
        try await ScriptedClient.run(configuration(changing)) { fixture in
            fixture.script("/x", .ok("a", fields: Self.fresh), .failure(.connect))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let stream = await fixture.client.startWith(fixture.get("/x")).collected()
            #expect(stream.emissions.map(\.source) == [.store] && stream.failure == code)
        }
    }

    @Test func foreignErrorIsTheCauseOfTheFailure() async throws {
        struct Broken: Error {}
        let breaking = Substituting(events: events) { _ in throw Broken() }
        try await ScriptedClient.run(configuration(breaking)) { fixture in
            fixture.script("/x", .failure(.connect))
            do throws(HoldfastError) {
                _ = try await fixture.client.fetch(fixture.get("/x"))
                Issue.record("There was a value.")
            } catch {
                #expect(error.code == .originUnreachable && error.cause is Broken)
            }
        }
    }

    @Test func firstContentWinsAndCallPluginsComeLast() async throws {
        let code = HoldfastError.Code("renamed")
        let plugins: [any Plugin] = [
            Substituting(events: events, name: "1 ") { _ in nil },
            Substituting(events: events, name: "2 ") { _ in throw HoldfastError(code: code, message: "") },
            Substituting(events: events, name: "3 ") { _ in nil },
        ]
        try await ScriptedClient.run(.init(plugins: plugins)) { fixture in
            fixture.script("/x", .failure(.connect), .failure(.connect))
            let call = fixture.client.call(fixture.get("/x")).with {
                $0.plugins = [
                    Substituting(events: events, name: "4 ") { _ in ResponseContent(Data("four".utf8)) },
                    Substituting(events: events, name: "5 "),
                ]
            }
            let value = try await call.fetch().value
            #expect(value == "four")
            await expect(code) { _ = try await fixture.client.fetch(fixture.get("/x")) }
        }
        let client = ["1 originUnreachable", "2 originUnreachable", "3 renamed"]
        #expect(events.all == client + ["4 renamed"] + client)
    }

    @Test func responsesAndUsageErrorsAreNotSubstituted() async throws {
        struct Nowhere: Endpoint {
            typealias Response = String
            var path: String { "/x" }
        }
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            let client = fixture.client
            fixture.script("/x", .status(.notFound), .status(.internalServerError), .status(.unauthorized), .ok("{"))
            await expect(.status) { _ = try await client.fetch(fixture.get("/x")) }
            await expect(.status) { _ = try await client.fetch(fixture.get("/x"), .networkOnly) }
            await expect(.authenticationFailed) { _ = try await client.fetch(fixture.get("/x")) }
            await expect(.decodingFailed) { _ = try await client.fetch(fixture.get("/x"), as: Feed.self) }
            await expect(.urlMissing) { _ = try await client.fetch(Nowhere()) }
            let stream = await client.startWith(Nowhere()).collected()
            #expect(stream.failure == .urlMissing)
            try await client.close()
            await expect(.closed) { _ = try await client.fetch(fixture.get("/x"), .networkOnly) }
        }
        #expect(events.all == [])
    }

    @Test func cancelledCallAsksNoPlugin() async throws {
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            let gate = Gate()
            defer { gate.open() }
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .ok("a", beforeHead: gate))
            let (client, endpoint) = (fixture.client, fixture.get("/x"))
            let fetch = Task { try await client.fetch(endpoint) }
            await fixture.transport.waitForRequests(1)
            fetch.cancel()
            await expect(.cancelled) { _ = try await fetch.value }
            let stream = Task { () async throws -> Int in
                var count = 0
                for try await _ in client.startWith(endpoint) { count += 1 }
                return count
            }
            await fixture.transport.waitForRequests(2)
            stream.cancel()
            await #expect(throws: CancellationError.self) { try await stream.value }
        }
        #expect(events.all == [])
    }

    @Test func substituteIsReadLikeAResponse() async throws {
        struct Moment: Decodable, Sendable, Equatable { var id: Int }
        let json = #"{"code":0,"data":{"list":[{"id":7}]}}"#
        let processing = RecordingPlugin(events: events)
        let plugins: [any Plugin] = [Substituting(events: events) { _ in ResponseContent(json: json) }, processing]
        try await ScriptedClient.run(.init(envelope: Envelope(), plugins: plugins)) { fixture in
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(.connect))
            let call = fixture.client.call(fixture.get("/x")).map([Moment].self, at: "list")
            let emission = try await call.fetch()
            #expect(emission.value == [Moment(id: 7)] && emission.fields[.contentType] == "application/json")
            #expect(events.all.suffix(2) == ["originUnreachable", "process 200"])
            let count = try await call.map { $0.count }.fetch().value
            #expect(count == 1)
            // A substitute that fails validation or decoding is no value. The original failure is
            // kept.
            struct Refused: Error {}
            await expect(.dataFormat) { _ = try await call.validate { _ in throw Refused() }.fetch() }
            await expect(.status) { _ = try await call.accepting([201]).fetch() }
            do throws(HoldfastError) {
                _ = try await fixture.client.fetch(fixture.get("/x"), as: Feed.self)
                Issue.record("There was a feed.")
            } catch {
                #expect(error.code == .decodingFailed)
                #expect((error.cause as? HoldfastError)?.code == .originUnreachable)
            }
        }
    }

    @Test func pluginIsAskedOnceForEachOfThirtyCallers() async throws {
        let gate = Gate()
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            fixture.transport.script(ScriptedClient.url + "/x", repeating: .failure(.connect, beforeHead: gate))
            let (client, endpoint) = (fixture.client, fixture.get("/x"))
            let values = try await withThrowingTaskGroup(of: [Emission<String>].self) { group in
                for number in 0..<30 {
                    group.addTask {
                        guard number.isMultiple(of: 2) else { return [try await client.fetch(endpoint)] }
                        return await client.startWith(endpoint).collected().emissions
                    }
                }
                await fixture.transport.waitForRequests(1)
                gate.open()
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(values.count == 30 && values.allSatisfy { $0.source == .substitute && $0.value == "none" })
        }
        #expect(events.all == Array(repeating: "originUnreachable", count: 30))
    }

    @Test func failedMutationInvalidatesNothing() async throws {
        struct Like: Endpoint {
            typealias Response = String
            var baseURL: String { ScriptedClient.url }
            var path: String { "/like" }
            var method: HTTPRequest.Method { .post }
            var invalidates: [StoreInvalidation] { [.prefix(ScriptedClient.url + "/x")] }
        }
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            fixture.script("/x", .ok("a", fields: Self.fresh))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            fixture.script("/like", .failure(.connect))
            #expect(try await fixture.client.fetch(Like()).source == .substitute)
            #expect(try await fixture.client.fetch(fixture.get("/x")).isStale == false)
        }
    }

    /// Each object of a batch is stored, so none may be a substitute.
    @Test func batchesStoreNoSubstitute() async throws {
        let json = ResponseContent(json: #"{"7":"made up"}"#)
        try await ScriptedClient.run(configuration(Substituting(events: events) { _ in json })) { fixture in
            fixture.script("/x", .failure(.connect))
            let endpoint = AnyRequest<[String: String]>(baseURL: ScriptedClient.url, path: "/x")
            let batch = ObjectBatch<String, String>(
                key: { $0 },
                expiry: .never,
                endpoint: { _ in endpoint },
                values: { $0 }
            )
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(["7"], of: batch) }
            let stored = try await fixture.store.object(String.self, forKey: "7")
            #expect(stored == nil)
        }
        #expect(events.all == [])
    }

    @Test func followingStreamContinuesAfterASubstitute() async throws {
        try await ScriptedClient.run(configuration(substituting)) { fixture in
            let endpoint = fixture.get("/x")
            fixture.script("/x", .failure(.connect), .ok("a", fields: Self.fresh))
            let call = fixture.client.call(endpoint).with { $0.followsStore = true }
            var stream = call.request().makeAsyncIterator()
            #expect(try await stream.next()?.source == .substitute)
            let others = fixture.client(.init())
            _ = try await others.fetch(endpoint)
            let next = try await stream.next()
            #expect(next?.value == "a" && next?.source == .store)
        }
    }
}
