import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

/// What a hostile reading of the engine found: each claim failed once.
@Suite(.timeLimit(.minutes(20))) struct ReviewTests {
    private let url = EngineFixture.url

    /// Mutant: collapsed callers are given the origin's head as it came.
    @Test(arguments: [(CacheKind.shared, "private=\"x-user\", public"), (.private, "no-cache=\"x-user\"")])
    func aFieldForOneIsNotTheCollapsedCallers(kind: CacheKind, directive: String) async throws {
        let fixture = EngineFixture(kind: kind)
        let gate = Gate()
        let name = try #require(HTTPField.Name("X-User"))
        let fields: HTTPFields = [.cacheControl: "max-age=60, " + directive, name: "ann"]
        fixture.transport.script(url, .ok("one", fields: fields, beforeEnd: gate))
        let leader = try await fixture.engine.respond(to: fixture.request())
        fixture.clock.advance(by: .seconds(5))
        let follower = try await fixture.engine.respond(to: fixture.request())
        gate.open()
        #expect(follower.outcome.isCollapsed)
        #expect(leader.head.headerFields[name] == "ann")
        #expect(!follower.head.headerFields.contains(name))
        #expect(follower.head.headerFields[.age] == "5")
    }

    /// A shared partition's response is other principals' too. Mutant: `isForOthers` is always
    /// `false`.
    @Test(arguments: [HTTPRequest.Method.get, .head])
    func aPrincipalsAnswerPlantsNoCookieInWhatOthersGet(method: HTTPRequest.Method) async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.eTag: "\"1\"", .setCookie: "sid=ann", .cacheControl: "max-age=60"]
        let update = ScriptedTransport.Reply.status(method == .get ? .notModified : .ok, fields: fields)
        fixture.transport.script(url, .fresh("one", etag: "\"1\""), update, .ok("ann's", fields: fields))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get(method: method, principal: "ann")
        let other = try await fixture.get(preference: .storedOnly)
        #expect(other.text == "one")
        #expect(!other.response.head.headerFields.contains(.setCookie))
    }

    @Test func a304ThatIsPrivateDoesNotFreshenWhatOthersGet() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "private, max-age=60"]
        fixture.transport.script(
            url,
            .fresh("one", etag: "\"1\""),
            .status(.notModified, fields: fields),
            .ok("ann's", fields: fields)
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let ann = try await fixture.get(principal: "ann")
        #expect(ann.text == "ann's")
        let other = try await fixture.get(preference: .storedOnly)
        #expect(other.text == "one")
        #expect(other.response.isStale)
    }

    /// Mutant: `complete` asks only whether storing is forbidden.
    @Test func aPrincipalsRestIsNotStoredWithWhatOthersGet() async throws {
        let fixture = EngineFixture()
        func part(_ text: String, _ range: String, _ cacheControl: String) -> ScriptedTransport.Reply {
            let fields: HTTPFields = [.eTag: "\"1\"", .contentRange: "bytes " + range, .cacheControl: cacheControl]
            return .status(.partialContent, text, fields: fields)
        }
        fixture.transport.script(
            url,
            part("he", "0-1/5", "max-age=60"),
            part("llo", "2-4/5", "private, max-age=60"),
            .ok("hello", fields: [.eTag: "\"1\"", .cacheControl: "private, max-age=60"])
        )
        try await fixture.get(url, [.range: "bytes=0-1"])
        let ann = try await fixture.get(principal: "ann")
        #expect(ann.text == "hello")
        let shared = fixture.memory.all.filter { $0.key.components.partition == .shared }
        #expect(shared.map(\.head.status.code) == [206])
    }

    /// RFC 9111 §3.5 is about `Authorization` alone. Mutant: `must-revalidate` excuses a cookie
    /// too.
    @Test func whatACookieSelectedIsNotSharedForItsMustRevalidate() async throws {
        let fixture = EngineFixture(kind: .shared)
        let fields: HTTPFields = [.cacheControl: "max-age=60, must-revalidate"]
        fixture.transport.script(url, .ok("ann's", fields: fields), .ok("nobody's", fields: fields))
        try await fixture.get(url, [.cookie: "sid=ann"])
        let other = try await fixture.get()
        #expect(other.text == "nobody's")
    }

    /// Mutant: what is found under an equivalent query answers whatever its own fields say.
    @Test func aRuleOfOneResponseDoesNotCountForAnother() async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        let base = "https://a.example/list"
        let rule = try #require(HTTPField.Name("No-Vary-Search"))
        let ruled: HTTPFields = [.cacheControl: "max-age=60", rule: #"params=("user")"#]
        fixture.transport.script(base + "?a=1&user=ann", .ok("public", fields: ruled))
        fixture.transport.script(base + "?b=2", .fresh("for nobody"))
        fixture.transport.script(base + "?b=2&user=ann", .fresh("for ann"))
        try await fixture.get(base + "?a=1&user=ann")
        try await fixture.get(base + "?b=2")
        let ann = try await fixture.get(base + "?b=2&user=ann")
        #expect(ann.text == "for ann")
    }

    /// Mutant: no tag for responses with a rule: the invalidation looks for rules in one partition
    /// only.
    @Test(arguments: ["ann", "bob"])
    func anUnsafeRequestInvalidatesEquivalentQueriesInEveryPartition(principal: String) async throws {
        let fixture = EngineFixture { $0.usesNoVarySearch = true }
        let target = "https://a.example/list?utm=x&a=1"
        let rule = try #require(HTTPField.Name("No-Vary-Search"))
        let ruled: HTTPFields = [.cacheControl: "max-age=60", rule: #"params=("utm")"#]
        fixture.transport.script(target, .ok("old", fields: ruled), .status(.ok), .ok("new", fields: ruled))
        try await fixture.get(target, principal: "ann")
        try await fixture.get(target, method: .post, principal: principal)
        let ann = try await fixture.get(target, principal: "ann")
        #expect(ann.text == "new")
    }

    /// Mutant: the request that is made again may be refused again: it is made for ever.
    @Test func whatLooksWrongIsPassedOnWhereNothingCanStandIn() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let page: HTTPFields = [.contentType: "text/html", .cacheControl: "max-age=9"]
        let portal = ScriptedTransport.Reply.ok("<html>", fields: page)
        let good: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        fixture.transport.script(url, .ok("[1]", fields: good), portal, portal)
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        fixture.store.fail([.openBody])
        let answer = try await fixture.get()
        #expect(answer.text == "<html>")
        #expect(fixture.transport.unscripted.isEmpty)
    }

    /// Mutant: the caller's closure is sent with the request as it is.
    @Test func interimResponsesDoNotReachACallerThatWasAnswered() async throws {
        let transport = InformingTransport()
        let (engine, sleeper, clock) = transport.engine { $0.softTimeout = .seconds(1) }
        let told = Mutex(0)
        var request = try EngineFixture().request()
        request.onInformational = { _ in told.withLock { $0 += 1 } }
        transport.next.withLock { $0 = .success(.init(status: .ok, headerFields: [.cacheControl: "max-age=60"])) }
        let first = try await engine.respond(to: request)
        _ = try await first.body.collect(upTo: 100)
        #expect(told.withLock { $0 } == 1)
        clock.advance(by: .seconds(61))
        let gate = Gate()
        transport.gate.withLock { $0 = gate }
        let slow = Task { [request] in try await engine.respond(to: request) }
        await sleeper.sleepers(atLeast: 1)
        sleeper.advance(by: .seconds(1))
        #expect(try await slow.value.outcome.detail == .slow)
        gate.open()
        while engine.fillCount > 0 { await Task.yield() }
        #expect(told.withLock { $0 } == 1)
    }

    /// Mutant: the request that is kept for probes keeps its closure.
    @Test func interimResponsesToAProbeReachNobody() async throws {
        let transport = InformingTransport()
        let (engine, sleeper, _) = transport.engine { _ in }
        let told = Mutex(0)
        var request = try EngineFixture().request()
        request.onInformational = { _ in told.withLock { $0 += 1 } }
        transport.next.withLock { $0 = .failure(TransportError(code: .connect, message: "")) }
        await #expect(throws: ExchangeError.self) { try await engine.respond(to: request) }
        #expect(told.withLock { $0 } == 1)
        await sleeper.sleepers(atLeast: 1)
        transport.next.withLock { $0 = .success(.init(status: .ok, headerFields: [.cacheControl: "max-age=60"])) }
        sleeper.advance(by: .seconds(1))
        while transport.count.withLock({ $0 }) < 2 || engine.fillCount > 0 { await Task.yield() }
        #expect(told.withLock { $0 } == 1)
    }

    /// Mutant: `lateAnswer` asks the policy alone.
    @Test(arguments: [CacheRequest.Preference.networkOnly, .networkFirst])
    func whoWantsTheOriginAskedDoesNotJoinWhatItAnsweredBefore(preference: CacheRequest.Preference) async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate), .fresh("two"))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = try await fixture.get(preference: preference)
        gate.open()
        #expect(second.text == "two")
        _ = try await first.body.collect(upTo: 100)
    }

    /// Mutant: `enter` without a limit in time: the second caller waits as long as the first one's
    /// body takes.
    @Test func whoWaitsForAPlaceWaitsNoLongerThanTheHardTimeout() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.hardTimeout = .seconds(10)
        }
        let gate = Gate()
        fixture.transport.script(url, .fresh("one", beforeEnd: gate))
        let first = try await fixture.engine.respond(to: fixture.request())
        let second = Task { await fixture.failure("https://a.example/2") }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(10))
        #expect(await second.value == .overloaded)
        gate.open()
        // It was read all the while: without a reader it would give its place up.
        _ = try await first.body.collect(upTo: 100)
        await fixture.untilIdle()
        fixture.transport.script("https://a.example/3", .fresh("three"))
        let third = try await fixture.get("https://a.example/3")
        #expect(third.text == "three")
    }

    /// RFC 9111 §4: what may not be reused without validation answers no collapsed request. Mutant:
    /// it does.
    @Test func whoWaitedForAnotherDoesNotGetItsNoCacheAnswer() async throws {
        let fixture = EngineFixture(kind: .shared)
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "no-cache"]
        fixture.transport.script(url, .ok("token 1", fields: fields, beforeHead: gate), .ok("token 2", fields: fields))
        let first = Task { try await fixture.get().text }
        await fixture.transport.waitForRequests(1)
        let second = Task { try await fixture.get().text }
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        #expect(try await first.value == "token 1")
        #expect(try await second.value == "token 2")
    }

    /// Mutant: all partitions' responses are ranked together.
    @Test func aPrincipalsOwnResponseGoesBeforeNobodys() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("ann's", 10), .fresh("nobody's", 600))
        try await fixture.get(principal: "ann")
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let ann = try await fixture.get(preference: .storedOnly, principal: "ann")
        #expect(ann.text == "ann's")
    }

    @Test func whatIsForEverybodyIsRankedWithAPrincipalsOwn() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("ann's", 10), .ok("all's", fields: [.cacheControl: "public, max-age=600"]))
        try await fixture.get(principal: "ann")
        fixture.clock.advance(by: .seconds(20))
        try await fixture.get()
        let ann = try await fixture.get(preference: .storedOnly, principal: "ann")
        #expect(ann.text == "all's")
    }

    /// Mutant: only a success of the same variant keeps an error out.
    @Test func anErrorForEveryVariantDoesNotHideOnesSuccess() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=600", .vary: "Accept-Language"]
        fixture.transport.script(
            url,
            .ok("hello", fields: fields),
            .status(.notFound, fields: [.cacheControl: "max-age=60"])
        )
        try await fixture.get(url, [.acceptLanguage: "en"])
        fixture.clock.advance(by: .seconds(1))
        try await fixture.get(url, [.acceptLanguage: "xx"])
        let english = try await fixture.get(url, [.acceptLanguage: "en"])
        #expect(english.text == "hello")
        #expect(english.response.outcome.isHit)
    }

    /// Mutant: `CombiningWriter.readBack` passes on what lies behind the part.
    @Test func aReaderThatFellBehindGetsItsPartAndNoMore() async throws {
        let fixture = EngineFixture()
        let (length, rest) = (2_000_000, 100)
        func part(_ range: Range<Int>) -> ScriptedTransport.Reply {
            let name = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length + rest)"
            let fields: HTTPFields = [.eTag: "\"1\"", .contentRange: name, .cacheControl: "max-age=60"]
            let chunk = ByteBuffer(repeating: 0x61, count: range.count)
            return .init(head: HTTPResponse(status: .partialContent, headerFields: fields), chunks: [chunk])
        }
        fixture.transport.script(url, part(length..<(length + rest)), part(0..<length))
        try await fixture.get(url, [.range: "bytes=\(length)-\(length + rest - 1)"])
        let request = try fixture.request(url, [.range: "bytes=0-\(length - 1)"])
        let response = try await fixture.engine.respond(to: request)
        await fixture.untilIdle()
        #expect(fixture.memory.all.map(\.bodyLength) == [Int64(length + rest)])
        let body = try await response.body.collect(upTo: 1 << 30)
        #expect(body.readableBytes == length)
    }

    /// Mutant: the guard looks at an answer's length whatever its status.
    @Test func anEmptyRedirectIsNotGuardedAgainst() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let moved: HTTPFields = [.cacheControl: "max-age=60", .location: "/new"]
        fixture.transport.script(url, .fresh("one"), .status(.permanentRedirect, fields: moved))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        try await fixture.get()
        let again = try await fixture.get()
        #expect(again.response.head.status == .permanentRedirect)
        #expect(again.response.outcome.isHit)
    }

    /// Portals forbid storing their page. Mutant: the guard is asked after storability.
    @Test func aPortalsPageIsNotBelievedWhereItMustNotBeStored() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let good: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=60"]
        let portal: HTTPFields = [.contentType: "text/html", .cacheControl: "no-store"]
        fixture.transport.script(url, .ok("[1]", fields: good), .ok("<html>", fields: portal))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let answer = try await fixture.get()
        #expect(answer.text == "[1]")
        #expect(answer.response.outcome.detail == .guarded)
    }

    /// Mutant: a 304 claims nothing, so that an answer from before it is stored after it.
    @Test func anOlderAnswerDoesNotTakeThePlaceOfWhatA304Confirmed() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(
            url,
            .fresh("one", etag: "\"1\""),
            .fresh("old", etag: "\"0\"", beforeEnd: gate),
            .status(.notModified, fields: [.eTag: "\"1\""])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let slow = try await fixture.engine.respond(to: fixture.request(url, [.ifNoneMatch: "\"x\""]))
        let confirmed = try await fixture.get()
        #expect(confirmed.text == "one")
        gate.open()
        _ = try await slow.body.collect(upTo: 100)
        await fixture.untilIdle()
        let after = try await fixture.get(preference: .storedOnly)
        #expect(after.text == "one")
    }

    /// RFC 9211 §2: what was not forwarded says no `fwd`. Mutant: `insteadOfAsking` gives the
    /// outcome of an asking.
    @Test func whatTheThrottleAnswersWasNotForwarded() async throws {
        let fixture = EngineFixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-if-error=86400"]
        fixture.transport.script(url, .ok("old", fields: fields), .status(.internalServerError))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(70))
        let asked = try await fixture.get()
        let throttled = try await fixture.get()
        #expect(asked.response.outcome.forwardStatus == 500)
        #expect(throttled.response.outcome.cacheStatus() == "holdfast; hit; ttl=-10; detail=stale-if-error")
    }

    /// The answer ends the probing. Mutant: a probe's fill does not go on when its caller leaves.
    @Test func whatAProbeBringsIsStoredHoweverSlowTheStore() async throws {
        let (transport, store, sleeper) = (ScriptedTransport(), SlowStore(), ManualDurationClock())
        var options = EngineOptions()
        options.hardTimeout = nil
        let engine = CacheEngine(
            store: store,
            transport: transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            clock: ManualClock(),
            sleeper: sleeper,
            jitter: { 1 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        transport.script(url, .failure(.connect), .fresh("new"))
        let request = try EngineFixture().request()
        await #expect(throws: ExchangeError.self) { try await engine.respond(to: request) }
        await sleeper.sleepers(atLeast: 1)
        sleeper.advance(by: .seconds(1))
        await transport.waitForRequests(2)
        // The prober has long left when the store is ready.
        for _ in 0..<1000 { await Task.yield() }
        store.gate.open()
        while engine.fillCount > 0 { await Task.yield() }
        #expect(store.base.all.count == 1)
    }

    /// RFC 9111 §5.2.1.7. Mutant: `refresh` without its question for `only-if-cached`.
    @Test func whoAsksForTheStoreAloneCausesNoRefresh() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("old", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let stale = try await fixture.get(url, [.cacheControl: "only-if-cached"])
        await fixture.untilIdle()
        #expect(stale.text == "old")
        #expect(fixture.transport.requests.count == 1)
    }

    /// Mutant: `originFailed` refuses with whatever error is the engine's own.
    @Test func anOverloadIsAServerErrorToWhatIsStored() async throws {
        let fixture = EngineFixture {
            $0.inFlightLimit = 1
            $0.waitingLimit = 0
        }
        let gate = Gate()
        fixture.transport.script(url, .ok("old", fields: [.cacheControl: "max-age=60, stale-if-error=600"]))
        fixture.transport.script("https://a.example/2", .fresh("two", beforeEnd: gate))
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        _ = try await fixture.engine.respond(to: fixture.request("https://a.example/2"))
        let stale = try await fixture.get()
        gate.open()
        #expect(stale.text == "old")
        #expect(stale.response.outcome.cacheStatus() == "holdfast; hit; ttl=-1; detail=overloaded")
    }

    /// Mutant: a part claims its key as a whole response does.
    @Test func aPartThatIsStoredMeanwhileDoesNotKeepTheWholeOut() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let fields: HTTPFields = [.eTag: "\"1\"", .cacheControl: "max-age=60", .contentRange: "bytes 0-1/5"]
        fixture.transport.script(url, .fresh("hello", etag: "\"1\"", beforeEnd: gate))
        fixture.transport.script(url, .status(.partialContent, "he", fields: fields))
        let whole = try await fixture.engine.respond(to: fixture.request())
        try await fixture.get(url, [.range: "bytes=0-1"])
        gate.open()
        _ = try await whole.body.collect(upTo: 100)
        await fixture.untilIdle()
        let stored = try await fixture.get(preference: .storedOnly)
        #expect(stored.text == "hello")
    }
}

/// Sends a 103 before each answer, late where there is a gate.
private final class InformingTransport: Transport {
    let next = Mutex<Result<HTTPResponse, TransportError>>(.success(HTTPResponse(status: .ok)))
    let gate = Mutex<Gate?>(nil)
    let count = Mutex(0)

    func engine(_ change: (inout EngineOptions) -> Void) -> (CacheEngine, ManualDurationClock, ManualClock) {
        var options = EngineOptions()
        options.hardTimeout = nil
        change(&options)
        let (sleeper, clock) = (ManualDurationClock(), ManualClock())
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: self,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            clock: clock,
            sleeper: sleeper,
            jitter: { 1 },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        return (engine, sleeper, clock)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if let gate = gate.withLock({ $0 }) { try await gate.wait() }
        request.onInformational?(HTTPResponse(status: .earlyHints))
        count.withLock { $0 += 1 }
        return TransportResponse(head: try next.withLock { $0 }.get(), body: BodyStream(ByteBuffer(string: "body")))
    }
}

/// A store that begins to write when its gate opens.
private final class SlowStore: ResponseStore {
    let base = InMemoryResponseStore()
    let gate = Gate()

    var invalidationSequence: InvalidationSequence { base.invalidationSequence }
    var changes: StoreChangeFeed { base.changes }

    func resident(_ key: CacheKey) -> [StoredResponse]? { base.resident(key) }

    func lookup(_ key: CacheKey) async throws -> [StoredResponse] { try await base.lookup(key) }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        try await base.openBody(of: response, range: range)
    }

    func beginWrite(_ draft: ResponseDraft, fence: InvalidationSequence) async throws -> (any ResponseWriter)? {
        try await gate.wait()
        return try await base.beginWrite(draft, fence: fence)
    }

    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fence: InvalidationSequence) async throws
        -> StoredResponse?
    {
        try await base.freshen(response, with: draft, fence: fence)
    }

    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await base.invalidate(scope, effect, at: now)
    }
}
