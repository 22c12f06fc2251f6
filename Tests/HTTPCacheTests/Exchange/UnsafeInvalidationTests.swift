import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Responses that a success of an unsafe method invalidated or deleted, while the origin is
/// unreachable. RFC 9111 §4.4
@Suite(.timeLimit(.minutes(20))) struct UnsafeInvalidationTests {
    private let url = EngineFixture.url
    private let other = "https://a.example/other"

    private func fixture(lifted: Bool = false, mode: OfflineMode = .automatic) -> EngineFixture {
        EngineFixture(
            mode: mode,
            rules: lifted ? TestRules { $0.overrides.directivesIgnoredWhenStale = [.invalidated] } : nil
        )
    }

    private func method(_ name: String) throws -> HTTPRequest.Method { try #require(HTTPRequest.Method(name)) }

    /// Stores a response for a minute, then changes it at the origin, which is unreachable from
    /// then on.
    private func changed(
        _ fixture: EngineFixture,
        by method: HTTPRequest.Method,
        _ status: HTTPResponse.Status = .noContent,
        _ fields: HTTPFields = [:]
    ) async throws {
        fixture.transport.script(
            url,
            .fresh("old", etag: "\"1\""),
            .status(status, fields: fields),
            // The first caller, and the one that is tried between two probes.
            .failure(.connect),
            .failure(.connect),
            .failure(.connect)
        )
        try await fixture.get()
        try await fixture.get(url, method: method)
    }

    // MARK: The class

    /// Every mode, preference, directive and age that the generator makes, for every cause and
    /// every state of the origin.
    ///
    /// Mutants: `unsafe-invalidation-*`.
    @Test(arguments: SituationTransport.Situation.allCases, [InvalidationCause.unsafeMethod, .unspecified])
    func invalidatedResponseIsNeverFresh(
        in situation: SituationTransport.Situation,
        cause: InvalidationCause
    ) async throws {
        var (served, refused) = (0, 0)
        for seed in 0..<160 as Range<UInt64> {
            var generated = ExplainedCase(seed: seed)
            (generated.invalidated, generated.cause) = (generated.stored.count, cause)
            let (engine, _, _) = try await generated.engine(
                on: SituationTransport(situation),
                mode: situation == .offline ? .offline : generated.mode
            )
            let isLifted = generated.settings?.overrides.directivesIgnoredWhenStale.contains(.invalidated) == true
            let isUnasked =
                engine.mode == .offline || generated.settings?.mode == .offline
                || generated.request.preference == .storedOnly
            func judge(_ stored: InvalidationCause?, _ outcome: CacheOutcome, isStale: Bool, _ door: String) {
                guard stored == .unsafeMethod else { return }
                served += 1
                let found = "seed \(seed), \(door): \(outcome.cacheStatus())\n\(generated)"
                #expect(isLifted, "\(found)")
                #expect(situation == .unreachable || isUnasked, "the origin could be asked: \(found)")
                #expect(outcome.detail == .invalidated && isStale, "\(found)")
                #expect(outcome.timeToLive.map { $0 <= 0 } == true, "\(found)")
            }
            if let prepared = engine.prepare(generated.request),
                case .serve(let hit) = engine.attempt(on: prepared).begin()
            {
                let response = hit.response
                judge(response.stored?.head.invalidation, response.outcome, isStale: response.isStale, "on a loop")
                #expect(hit.conditions == nil || response.stored?.head.isInvalidated == false, "seed \(seed)")
            }
            let explanation = try await engine.explain(generated.request)
            _ = engine.attempt(on: generated.request, mayRead: true) { response -> Bool? in
                judge(response.stored?.head.invalidation, response.outcome, isStale: response.isStale, "at once")
                return nil
            }
            // The second time the origin is known to fail.
            for attempt in 1...2 {
                do {
                    let response = try await engine.respond(to: generated.request)
                    _ = try await response.body.collect(upTo: 1 << 20)
                    guard response.source == .store else { continue }
                    let cause = response.stored?.head.invalidation
                    judge(cause, response.outcome, isStale: response.isStale, "\(attempt)")
                } catch let error as ExchangeError where error.code == .staleForbidden {
                    refused += 1
                } catch is ExchangeError {}
            }
            // The explanation is the same, whatever the origin does.
            for verdict in [explanation.now, explanation.unreachable, explanation.failing, explanation.offline]
            where verdict.answer == .stored && cause == .unsafeMethod {
                let isHonest = verdict.detail == "invalidated" && (verdict.timeToLive ?? 1) <= 0 && isLifted
                #expect(isHonest, "seed \(seed): \(verdict)\n\(generated)")
            }
            await engine.shutDown()
        }
        // A generator that never produces the case would prove nothing.
        if cause == .unsafeMethod {
            #expect(refused > 5 || situation == .reachable || situation == .failing, "\(refused)")
            #expect(served > 0, "\(served)")
        }
    }

    // MARK: POST, PUT, PATCH and unknown methods

    @Test(arguments: ["POST", "PUT", "PATCH", "FROBNICATE"])
    func invalidatedResponseIsNotServedForUnreachableOrigin(name: String) async throws {
        let fixture = fixture()
        try await changed(fixture, by: method(name))
        // The first caller, and a later one.
        for _ in 0..<2 { #expect(await fixture.failure() == .staleForbidden) }
        fixture.engine.mode = .offline
        #expect(await fixture.failure() == .staleForbidden)
        #expect(await fixture.failure(preference: .storedOnly) == .staleForbidden)
        #expect(await fixture.failure(url, [.cacheControl: "max-stale"]) == .staleForbidden)
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "FROBNICATE"])
    func settingServesInvalidatedResponseWithDetail(name: String) async throws {
        let fixture = fixture(lifted: true)
        try await changed(fixture, by: method(name))
        for _ in 0..<2 {
            let (text, response) = try await fixture.get()
            #expect(text == "old" && response.isStale)
            #expect(response.outcome.cacheStatus() == "holdfast; hit; ttl=0; detail=invalidated")
        }
        fixture.engine.mode = .offline
        fixture.clock.advance(by: .seconds(3660))
        let late = try await fixture.get().response
        #expect(late.outcome.cacheStatus() == "holdfast; hit; ttl=-3600; detail=invalidated")
    }

    /// The setting applies only to an unreachable origin. A reachable origin is asked, and one that
    /// fails has responded.
    @Test(arguments: [OfflineMode.online, .automatic, .preferStored])
    func settingAppliesOnlyIfOriginIsUnreachable(mode: OfflineMode) async throws {
        let fixture = fixture(lifted: true, mode: mode)
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, stale-if-error=600, stale-while-revalidate=600"]),
            .status(.noContent),
            .status(.serviceUnavailable),
            .fresh("new")
        )
        try await fixture.get()
        try await fixture.get(url, method: .put)
        #expect(try await fixture.get().response.head.status == .serviceUnavailable)
        fixture.clock.advance(by: .seconds(2))
        #expect(try await fixture.get().text == "new")
    }

    @Test func confirmedResponseIsFreshAgain() async throws {
        let fixture = fixture()
        fixture.transport.script(
            url,
            .fresh("old", etag: "\"1\""),
            .status(.noContent),
            .status(.notModified, fields: [.eTag: "\"1\"", .cacheControl: "max-age=60"])
        )
        try await fixture.get()
        try await fixture.get(url, method: .post)
        try await fixture.get()
        fixture.engine.mode = .offline
        #expect(try await fixture.get().response.outcome.cacheStatus() == "holdfast; hit; ttl=60")
    }

    @Test func targetsItNamesAreNotServedEither() async throws {
        let fixture = fixture()
        let group = try #require(HTTPField.Name("Cache-Groups"))
        let groups = try #require(HTTPField.Name("Cache-Group-Invalidation"))
        let third = "https://a.example/third"
        let fourth = "https://a.example/fourth"
        for target in [other, third] { fixture.transport.script(target, .fresh("old")) }
        fixture.transport.script(fourth, .ok("old", fields: [.cacheControl: "max-age=60", group: "\"g\""]))
        for target in [other, third, fourth] { try await fixture.get(target) }
        fixture.transport.script(
            url,
            .status(.created, fields: [.location: "/other", .contentLocation: "/third", groups: "\"g\""])
        )
        try await fixture.get(url, method: .post)
        fixture.engine.mode = .offline
        for target in [other, third, fourth] {
            #expect(await fixture.failure(target) == .staleForbidden, "\(target)")
        }
    }

    // MARK: DELETE

    @Test(arguments: [HTTPResponse.Status.ok, .accepted, .noContent])
    func successfulDeleteRemovesResponse(status: HTTPResponse.Status) async throws {
        let fixture = fixture(lifted: true)
        fixture.transport.script(other, .fresh("other"))
        try await fixture.get(other)
        fixture.transport.script(
            url,
            .ok("de", fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"]),
            .ok("en", fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"]),
            .ok("mine", fields: [.cacheControl: "max-age=60, private", .vary: "Accept-Language"]),
            .status(status, fields: [.location: "/other"]),
            .failure(.connect)
        )
        try await fixture.get(url, [.acceptLanguage: "de"])
        try await fixture.get(url, [.acceptLanguage: "en"])
        try await fixture.get(url, [.acceptLanguage: "fr", .authorization: "Bearer a"], principal: "me")
        #expect(fixture.memory.all.count == 4)
        try await fixture.get(url, method: .delete)
        // The target in 'Location' was not deleted.
        #expect(fixture.memory.all.map { $0.key.components.target.uri } == [other])
        #expect(fixture.memory.all.map(\.head.invalidation) == [.unsafeMethod])
        #expect(await fixture.failure(url, [.acceptLanguage: "de"]) == .originUnreachable)
        #expect(try await fixture.get(other).response.outcome.detail == .invalidated)
    }

    @Test(arguments: [(HTTPResponse.Status.seeOther, InvalidationCause?.some(.unsafeMethod)), (.notFound, nil)])
    func deleteThatDeletedNothingRemovesNothing(status: HTTPResponse.Status, cause: InvalidationCause?) async throws {
        let fixture = fixture()
        try await changed(fixture, by: .delete, status)
        #expect(fixture.memory.all.map(\.head.invalidation) == [cause])
    }

    @Test func deleteRemovesResponseKeyedWithoutParameters() async throws {
        let fixture = EngineFixture(rules: TestRules { $0.target.ignoredParameters = ["session"] })
        fixture.transport.script("\(url)?session=1", .fresh("one"))
        fixture.transport.script("\(url)?session=9", .status(.noContent))
        try await fixture.get("\(url)?session=1")
        try await fixture.get("\(url)?session=9", method: .delete)
        #expect(fixture.memory.all.isEmpty)
    }

    // MARK: Purges

    /// As usual: the response may still be good, and the client sees that the network is
    /// unreachable.
    @Test(arguments: ["purge", "tag", "everything", "prefix"])
    func softPurgedResponseIsServedOffline(by way: String) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.tags = ["t"] })
        fixture.transport.script(url, .fresh("old"), .failure(.connect))
        try await fixture.get()
        let now = fixture.clock.now()
        switch way {
        case "purge": try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true)
        case "tag": try await fixture.engine.invalidate(tagged: "t", keepingForOffline: true)
        case "prefix":
            let prefix = try TargetPrefix("https://a.example/")
            try await fixture.store.invalidate(.prefix(prefix), keepingForOffline: true, at: now)
        default: try await fixture.store.invalidate(.all, keepingForOffline: true, at: now)
        }
        for _ in 0..<2 {
            let (text, response) = try await fixture.get()
            #expect(text == "old" && response.isStale)
            #expect(response.outcome.cacheStatus() == "holdfast; hit; ttl=60; detail=unreachable")
        }
    }

    /// A purge does not undo an unsafe method's invalidation.
    @Test(arguments: [true, false]) func purgeDoesNotUndoUnsafeInvalidation(first: Bool) async throws {
        let fixture = fixture()
        fixture.transport.script(url, .fresh("old"), .status(.noContent))
        try await fixture.get()
        if first { try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true) }
        try await fixture.get(url, method: .put)
        if !first { try await fixture.engine.invalidate(fixture.request(), keepingForOffline: true) }
        fixture.engine.mode = .offline
        #expect(await fixture.failure() == .staleForbidden)
    }
}
