import Foundation
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastTesting
import TestSupport
import Testing

/// The two most usual kinds of JSON back ends forbid offline use. One setting keeps their
/// responses.
@Suite(.timeLimit(.minutes(20))) struct OfflineReadsSettingTests {
    private static let url = "https://a.example/x"

    /// The directives with which back ends forbid a client to store a response, or to use it
    /// without validation.
    enum BackEnd: String, CaseIterable {
        case noStore = "no-store"
        case noStoreWithLifetime = "no-store, max-age=3600"
        case everything = "no-cache, no-store, must-revalidate, max-age=0, private"
        case mustRevalidate = "max-age=0, private, must-revalidate"
        case noCache = "no-cache, max-age=3600"

        var fields: HTTPFields { [.cacheControl: rawValue, .eTag: "\"1\""] }
        var forbidsStoring: Bool { rawValue.contains("no-store") }
    }

    /// The place of the setting.
    enum Scope: CaseIterable {
        case client, endpoint, call, rule
    }

    private struct Resource: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        var path = "/x"
        var headers: HTTPFields = [:]
        var principal: String?
        var storage = CacheRequest.Storage.byResponse
        var rule: RuleSettings?
        var offlineReads: OfflineReads?
    }

    private static func lifting(_ directives: PolicyOverrides.Directives) -> RuleSettings {
        var rule = RuleSettings()
        rule.stale.ignore = directives
        return rule
    }

    private static func configuration(_ scope: Scope?) throws -> CachingClient.Configuration {
        var configuration = CachingClient.Configuration()
        if scope == .client { configuration.offlineReads = .despiteDirectives }
        if scope == .rule {
            let yaml = "version: 1\nrules: [{stale: {ignore: [no-store, no-cache, must-revalidate]}}]"
            configuration.rules = try HoldfastConfiguration.Configuration(yaml: yaml).rules
        }
        return configuration
    }

    private static func call(_ client: CachingClient, _ scope: Scope?) -> Call<String> {
        let endpoint = Resource(offlineReads: scope == .endpoint ? .despiteDirectives : nil)
        return client.call(endpoint).with { if scope == .call { $0.offlineReads = .despiteDirectives } }
    }

    // MARK: Every kind of call

    @Test(arguments: BackEnd.allCases, Scope.allCases) func everyCallServesTheStoredResponse(
        backEnd: BackEnd,
        scope: Scope
    )
        async throws
    {
        try await withTestClient(try Self.configuration(scope)) { test in
            let call = Self.call(test.client, scope)
            test.transport.script(Self.url, .ok("one", fields: backEnd.fields))
            let online = try await call.fetch()
            #expect(online.source == .network && online.outcome.isStored && online.notStored == nil)

            let stored = try await call.stored()
            #expect(stored?.value == "one" && stored?.source == .store)

            // The origin confirms a response with a tag, and the stream emits it as unchanged.
            test.transport.script(Self.url, repeating: .notModified(backEnd.fields))
            let both = await call.request().collected()
            #expect(both.emissions.map(\.source) == [.store, .network])
            #expect(both.emissions.map(\.isUnchanged) == [false, true] && both.failure == nil)
            #expect(test.transport.requests.last?.headerFields[.ifNoneMatch] == "\"1\"")

            let shown = Events()
            let fresh = await call.onCache { shown.append($0.value) }.request().collected()
            #expect(shown.all == ["one"] && fresh.emissions.map(\.value) == ["one"])

            test.transport.isReachable = false
            #expect(try await call.fetch().value == "one")
            #expect(try await call.fetch(.networkFirst).source == .store)
            test.client.mode = .offline
            let offline = try await call.fetch()
            #expect(offline.value == "one" && offline.source == .store)
        }
    }

    @Test(arguments: BackEnd.allCases) func nothingIsServedWithoutTheSetting(backEnd: BackEnd) async throws {
        try await withTestClient { test in
            let call = Self.call(test.client, nil)
            test.transport.script(Self.url, repeating: .ok("one", fields: backEnd.fields))
            let online = try await call.fetch()
            #expect(online.notStored == (backEnd.forbidsStoring ? .responseNoStore : nil))
            #expect(online.outcome.isStored == !backEnd.forbidsStoring)
            #expect(await call.request().collected().emissions.map(\.source) == [.network])
            let shown = Events()
            _ = await call.onCache { shown.append($0.value) }.request().collected()
            #expect(shown.all == [])
            test.client.mode = .offline
            await expect(backEnd.forbidsStoring ? .offlineMiss : .staleForbidden) { _ = try await call.fetch() }
        }
    }

    /// Mutant: `statedLifetime` of a `no-store` response as of any other.
    @Test(arguments: BackEnd.allCases.filter(\.forbidsStoring)) func noStoreResponseIsStaleFromTheBeginning(
        backEnd: BackEnd
    ) async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let call = Self.call(test.client, .client)
            test.transport.script(Self.url, .ok("one", fields: backEnd.fields))
            _ = try await call.fetch()
            let stored = try #require(try await call.stored())
            #expect(stored.isStale && stored.outcome.detail?.description.hasPrefix("despite-") == true)
        }
    }

    // MARK: Behavior online

    /// Mutants: `usableWithoutOrigin` and `serveStoredBeforePreparing` ignore lifted directives.
    @Test(arguments: BackEnd.allCases, [true, false]) func nothingChangesWhileTheOriginIsReachable(
        backEnd: BackEnd,
        hasPlugin: Bool
    ) async throws {
        let strategies: [SingleValueStrategy] = [
            .standard, .storedFirst, .staleWhileRevalidate, .networkFirst, .networkOnly,
        ]
        for strategy in strategies {
            var seen: [[String]] = []
            for scope in [nil, Scope.client] {
                var configuration = try Self.configuration(scope)
                // The store is read before such a plugin prepares the request.
                if hasPlugin { configuration.plugins = [RecordingPlugin(events: Events(), isReady: false)] }
                try await withTestClient(configuration) { test in
                    // Without a validator, so that each response is complete.
                    let fields: HTTPFields = [.cacheControl: backEnd.rawValue]
                    for number in 1...4 { test.transport.script(Self.url, .ok("\(number)", fields: fields)) }
                    var values: [String] = []
                    for pause in [0, 1, 120, 7200] {
                        test.clock.advance(by: .seconds(pause))
                        let emission = try await Self.call(test.client, scope).fetch(strategy)
                        values.append("\(emission.source) \(emission.value) \(emission.isStale)")
                    }
                    seen.append(values)
                }
            }
            #expect(seen[0] == seen[1], "\(strategy.self)")
        }
    }

    @Test func thirtyConcurrentCallsEachGetTheirOwnResponse() async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let gate = Gate()
            test.transport.script(Self.url) { request in
                let own = request.head.headerFields[.userAgent] ?? ""
                return .ok(own, fields: [.cacheControl: "no-store"], beforeHead: gate)
            }
            let (client, transport) = (test.client, test.transport)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let own = try await client.fetch(Resource(headers: [.userAgent: "\(number)"]))
                        #expect(own.value == "\(number)" && own.notStored == nil)
                    }
                }
                await transport.waitForRequests(1)
                // The other calls join the fetch or come later; the test cannot distinguish these.
                for _ in 0..<1000 { await Task.yield() }
                gate.open()
                try await group.waitForAll()
            }
            #expect(test.transport.requests.count == 30)
        }
    }

    // MARK: Principals

    /// A named principal, and one that its credentials identify.
    @Test(arguments: [true, false], ["no-store", "no-store, public, s-maxage=60", "private, must-revalidate"])
    func thirtyPrincipalsNeverSeeEachOthersResponses(isNamed: Bool, value: String) async throws {
        let resource: @Sendable (Int) -> Resource = { number in
            Resource(
                headers: [.authorization: "Bearer \(number)"],
                principal: isNamed ? "user-\(number)" : nil
            )
        }
        try await withTestClient(try Self.configuration(.client)) { test in
            test.transport.script(Self.url) { request in
                .ok(request.head.headerFields[.authorization] ?? "guest", fields: [.cacheControl: value])
            }
            let client = test.client
            _ = try await client.fetch(Resource())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 { group.addTask { _ = try await client.fetch(resource(number)) } }
                try await group.waitForAll()
            }
            client.mode = .offline
            for number in 0..<30 {
                #expect(try await client.fetch(resource(number)).value == "Bearer \(number)")
            }
            #expect(try await client.fetch(Resource()).value == "guest")
            // A principal without a response of its own sees neither another's nor a guest's.
            await expect(.offlineMiss) { _ = try await client.fetch(resource(30)) }
        }
    }

    @Test func guestCookieIsNotStored() async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let fields: HTTPFields = [.cacheControl: "no-store", .setCookie: "sid=1"]
            test.transport.script(Self.url, repeating: .ok("one", fields: fields))
            let guest = try await test.client.fetch(Resource())
            #expect(guest.notStored == .setCookie)
            let named = try await test.client.fetch(Resource(principal: "ada"))
            #expect(named.notStored == nil && named.outcome.isStored)
            #expect(try await test.client.stored(Resource()) == nil)
        }
    }

    // MARK: Restart

    @Test(arguments: BackEnd.allCases) func responseSurvivesARestart(backEnd: BackEnd) async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        for isFirst in [true, false] {
            let store = try await CacheManager.open(at: folder.store, clock: clock)
            let transport = ScriptedTransport()
            let client = CachingClient(
                store: store,
                transport: transport,
                configuration: try Self.configuration(.client),
                clock: clock
            )
            if isFirst {
                transport.script(Self.url, .ok("one", fields: backEnd.fields))
                _ = try await client.fetch(Resource())
            } else {
                transport.isReachable = false
                clock.advance(by: .seconds(86_400))
                let both = await client.startWith(Resource(), ifNetworkFails: .endingQuietly).collected()
                #expect(both.emissions.map(\.value) == ["one"] && both.emissions.allSatisfy(\.isStale))
            }
            try await client.close()
            try await store.close()
        }
    }

    // MARK: Precedence of settings

    @Test func moreSpecificSettingApplies() async throws {
        let nothing = Self.lifting([])
        var rules = try Self.configuration(.client)
        rules.rules = try RuleSet([Rule(matching: .init(urls: ["/x"]), settings: nothing)])
        let despite = OfflineReads.despiteDirectives
        let cases: [(CachingClient.Configuration, Resource, OfflineReads?, Bool)] = [
            (rules, Resource(), nil, false),
            (rules, Resource(path: "/y"), nil, true),
            (rules, Resource(offlineReads: despite), nil, true),
            (rules, Resource(rule: nothing, offlineReads: despite), nil, false),
            (rules, Resource(rule: nothing, offlineReads: despite), despite, true),
            (rules, Resource(path: "/y", offlineReads: .asAllowed), nil, false),
            (rules, Resource(path: "/y"), .asAllowed, false),
            (.init(), Resource(rule: Self.lifting([.noStore])), nil, true),
        ]
        for (index, (configuration, endpoint, option, isKept)) in cases.enumerated() {
            try await withTestClient(configuration) { test in
                test.transport.script(
                    "https://a.example" + endpoint.path,
                    .ok("one", fields: [.cacheControl: "no-store"])
                )
                let call = test.client.call(endpoint).with { $0.offlineReads = option }
                _ = try await call.fetch()
                #expect(try await call.stored()?.value == (isKept ? "one" : nil), "case \(index)")
            }
        }
    }

    /// An erased endpoint behaves as its base.
    @Test func anyEndpointForwardsTheSetting() async throws {
        try await withTestClient { test in
            test.transport.script(Self.url, .ok("one", fields: [.cacheControl: "no-store"]))
            let endpoint = AnyEndpoint(Resource(offlineReads: .despiteDirectives))
            let emission = try await test.client.fetch(endpoint)
            #expect(emission.outcome.isStored)
        }
    }

    @Test func otherReasonsStillPreventStoring() async throws {
        var bypassed = RuleSettings()
        bypassed.bypass = true
        let cases: [(Resource, HTTPFields, StorageRefusal)] = [
            (Resource(storage: .never), [:], .bypass),
            (Resource(rule: bypassed, offlineReads: .asAllowed), [:], .bypass),
            (Resource(headers: [.cacheControl: "no-store"]), [:], .requestNoStore),
            (Resource(), [.vary: "*"], .varyAny),
        ]
        for (endpoint, more, reason) in cases {
            try await withTestClient(try Self.configuration(.client)) { test in
                var fields: HTTPFields = [.cacheControl: "no-store"]
                fields.append(contentsOf: more)
                test.transport.script(Self.url, .ok("one", fields: fields))
                let emission = try await test.client.fetch(endpoint)
                #expect(emission.notStored == reason)
                #expect(try await test.client.stored(endpoint) == nil)
            }
        }
    }

    @Test func errorsAreNotStored() async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let fields: HTTPFields = [.cacheControl: "no-store"]
            test.transport.script(Self.url, .ok("good", fields: fields), .status(.notFound, "bad", fields: fields))
            _ = try await test.client.fetch(Resource())
            await expect(.status) { _ = try await test.client.fetch(Resource()) }
            #expect(try await test.client.stored(Resource())?.value == "good")
        }
    }

    @Test func mutatedResponseIsNotServedBeforeItIsFetchedAgain() async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let fields: HTTPFields = [.cacheControl: "no-store"]
            test.transport.script(Self.url, .ok("old", fields: fields), .status(.noContent), .ok("new", fields: fields))
            _ = try await test.client.fetch(Resource())
            let put = PathEndpoint(baseURL: "https://a.example", path: "/x", method: .put)
            _ = try await test.client.call(put, as: NoContent.self).fetch()
            #expect(try await test.client.stored(Resource()) == nil)
            _ = try await test.client.fetch(Resource())
            #expect(try await test.client.stored(Resource())?.value == "new")
        }
    }

    @Test func endpointExpiryMakesItFresh() async throws {
        try await withTestClient(try Self.configuration(.client)) { test in
            let endpoint = Resource(storage: .expiring(.after(.seconds(60))))
            let fields: HTTPFields = [.cacheControl: "no-store"]
            test.transport.script(Self.url, .ok("1", fields: fields), .ok("2", fields: fields))
            for (pause, value) in [(0, "1"), (59, "1"), (2, "2")] {
                test.clock.advance(by: .seconds(pause))
                let emission = try await test.client.fetch(endpoint)
                #expect(emission.value == value)
            }
        }
    }
}
