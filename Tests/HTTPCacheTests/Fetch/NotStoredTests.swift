import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// A response that was not stored carries the reason, on every path.
@Suite(.timeLimit(.minutes(20))) struct NotStoredTests {
    private typealias Reply = ScriptedTransport.Reply
    private let url = EngineFixture.url

    /// A response that one of the reasons keeps out of a store.
    struct Case: Sendable, CustomTestStringConvertible {
        var reason: StorageRefusal
        var reply: ScriptedTransport.Reply
        var kind = CacheKind.private
        var method = HTTPRequest.Method.get
        var fields: HTTPFields = [:]
        var settings = ExchangeSettings()
        var testDescription: String { "\(reason), \(kind), \(method)" }

        init(
            _ reason: StorageRefusal,
            _ reply: ScriptedTransport.Reply,
            in kind: CacheKind = .private,
            by method: HTTPRequest.Method = .get,
            _ fields: HTTPFields = [:],
            under change: (inout ExchangeSettings) -> Void = { _ in }
        ) {
            self.reason = reason
            self.reply = reply
            self.kind = kind
            self.method = method
            self.fields = fields
            change(&settings)
        }

        static let all = [
            Case(.method, .ok("x"), by: .post), Case(.method, .ok("x"), by: .head),
            Case(.statusNotUnderstood, .status(299, "x", fields: [.cacheControl: "max-age=60, must-understand"])),
            Case(.statusAboutRequest, .status(.tooManyRequests, "x")),
            Case(.statusAboutRequest, .status(.notModified), [.ifNoneMatch: "\"1\""]),
            Case(.statusProvoked, .status(.badRequest, "x", fields: [.cacheControl: "max-age=60"])),
            Case(.partialContent, .status(.partialContent, "x"), [.range: "bytes=0-0"]),
            Case(.requestNoStore, .ok("x"), [.cacheControl: "no-store"]),
            Case(.responseNoStore, .ok("x", fields: [.cacheControl: "no-store"])),
            Case(.privateResponse, .ok("x", fields: [.cacheControl: "private"]), in: .shared),
            Case(.authorization, .ok("x"), in: .shared, [.authorization: "Bearer x"]),
            Case(.notExplicit, .status(.created, "x")), Case(.notExplicit, .status(.internalServerError, "x")),
            Case(.varyAny, .ok("x", fields: [.vary: "*"])),
            Case(.setCookie, .ok("x", fields: [.setCookie: "a=1"]), in: .shared),
            Case(.setCookie, .ok("x", fields: [.cacheControl: "no-store", .setCookie: "a=1"])) {
                $0.overrides.directivesIgnoredWhenStale = .noStore
            },
            Case(.rule, .ok("x")) { $0.overrides.statuses = [404] },
            Case(.bypass, .ok("x")) { $0.isBypassed = true },
            Case(.bypass, .ok("x")) { $0.methods = [.post] },
            Case(.endless, .ok("x", fields: [.contentType: "text/event-stream"])),
            Case(.tags, .ok("x", fields: [.cacheControl: "max-age=60", TagField.xkey.name: TagFieldTests.tooMany])) {
                $0.tagFields = [.xkey]
            },
            Case(.bodyLength, .ok("x", fields: [.contentLength: "1"])) { $0.minimumBodyLength = 2 },
            Case(.fewUses, .ok("x", fields: [.cacheControl: "max-age=60"])) { $0.leastUses = 2 },
        ]
    }

    @Test(arguments: Case.all) func reasonIsReported(example: Case) async throws {
        let settings = example.settings
        let rules = settings == ExchangeSettings() ? nil : TestRules { $0 = settings }
        let fixture = EngineFixture(kind: example.kind, rules: rules)
        fixture.transport.script(url, example.reply)
        let outcome = try await fixture.get(url, example.fields, method: example.method).response.outcome
        #expect(outcome.notStored == example.reason)
        #expect(!outcome.isStored && fixture.memory.all.isEmpty)
    }

    @Test func errorBesideStoredSuccessIsReported() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("good"), .status(.notFound, "bad", fields: [.cacheControl: "max-age=60"]))
        let first = try await fixture.get().response.outcome
        #expect(first.isStored && first.notStored == nil)
        let second = try await fixture.get(preference: .networkOnly).response.outcome
        #expect(second.notStored == .storedSuccess && !second.isStored)
    }

    @Test func guardedResponseIsReported() async throws {
        let fixture = EngineFixture { $0.goodDataGuard = GoodDataGuard() }
        let json: HTTPFields = [.contentType: "application/json"]
        fixture.transport.script(url, .ok("[1]", fields: json), .ok("<p>", fields: [.contentType: "text/html"]))
        _ = try await fixture.get()
        let outcome = try await fixture.get(preference: .networkOnly).response.outcome
        #expect(outcome.notStored == .guarded && !outcome.isStored)
    }

    @Test func failingStoreIsReported() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("x"))
        fixture.store.fail([.beginWrite])
        let outcome = try await fixture.get().response.outcome
        #expect(outcome.notStored == .store && !outcome.isStored)
    }

    @Test func contentBeyondCheckLimitIsReported() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .ok("much", fields: [.contentLength: "4"]))
        var request = try fixture.request()
        request.contentCheck = ContentCheck(maximumBytes: 3) { _, _ in }
        let outcome = try await fixture.engine.respond(to: request).outcome
        #expect(outcome.notStored == .bodyLength)
    }

    @Test func confirmedAndStoredResponsesHaveNoReason() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(url, .fresh("x", etag: "\"1\""), .status(.notModified))
        _ = try await fixture.get()
        #expect(try await fixture.get().response.outcome.notStored == nil)
        fixture.clock.advance(by: .seconds(61))
        let validated = try await fixture.get().response
        #expect(validated.isValidated && validated.outcome.notStored == nil)
    }

    /// Each sends its own request, because the response is only for the caller that it answers.
    ///
    /// Mutant: only the leader gets the reason.
    @Test func thirtyConcurrentCallersGetReason() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        let fields: HTTPFields = [.cacheControl: "no-store"]
        fixture.transport.script(url, .ok("x", fields: fields, beforeHead: gate))
        fixture.transport.script(url, repeating: .ok("x", fields: fields))
        let reasons = try await withThrowingTaskGroup(of: StorageRefusal?.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.get().response.outcome.notStored } }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reasons == Array(repeating: .responseNoStore, count: 30))
    }

    /// A leader's response that the store declines is shared while it arrives.
    @Test func callersOfSharedUnstoredResponseGetReason() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.store.fail([.beginWrite])
        fixture.transport.script(url, repeating: .fresh("x", beforeHead: gate))
        let outcomes = try await withThrowingTaskGroup(of: CacheOutcome.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.get().response.outcome } }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.notStored == .store && !$0.isStored })
    }

    /// The reason is for people, not for caches.
    @Test func reasonIsNotInCacheStatus() {
        let outcome = CacheOutcome(forward: .uriMiss, notStored: .responseNoStore)
        #expect(outcome.cacheStatus() == CacheOutcome(forward: .uriMiss).cacheStatus())
    }
}
