import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

/// A job's responses are for this job alone, although they are in the store of others.
@Suite(.timeLimit(.minutes(20))) struct JobPartitionTests {
    private let url = EngineFixture.url
    private let key: HTTPFields = [.authorization: "Bearer 5ecret-key"]

    private static func recording(posts: Bool = false) -> JobRun {
        var use = JobRun.Use()
        use.comparesIdentities = true
        use.keysPosts = posts
        return JobRun(partition: "one", use)
    }

    // MARK: Isolation

    /// The kinds of requests that a gateway or a service sends to its engine.
    private static func request(_ random: inout SeededRandom, at path: Int) throws -> CacheRequest {
        let target = try TargetURI("https://a.example/\(path)?api_key=\(Int.random(in: 0...1, using: &random))")
        var fields = HTTPFields()
        switch Int.random(in: 0...3, using: &random) {
        case 0: fields[.authorization] = "Bearer \(Int.random(in: 0...1, using: &random))"
        case 1: fields[.cookie] = "session=one"
        default: break
        }
        let head = HTTPRequest(
            method: Bool.random(using: &random) ? .get : .head,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: fields
        )
        var request = CacheRequest(head: head)
        // A principal with the name of the job's partition is another partition.
        if Int.random(in: 0...3, using: &random) == 0 { request.principal = "one" }
        if Bool.random(using: &random) { request.secretParameters = ["api_key"] }
        return request
    }

    /// The lookup keys of an engine without a job, of a job and of another job never meet,
    /// whatever the request.
    @Test(arguments: 0..<40 as Range<UInt64>) func partitionsNeverMeet(seed: UInt64) throws {
        let plain = [EngineFixture(kind: .shared), EngineFixture(kind: .private)]
        let jobs = ["one", "two"].map { EngineFixture(kind: .shared, job: JobRun(partition: $0)) }
        var random = SeededRandom(seed: seed)
        var keys: [[StoreKey]] = [[], [], []]
        for _ in 0..<50 {
            let request = try Self.request(&random, at: Int.random(in: 0...2, using: &random))
            for fixture in plain { keys[0] += fixture.engine.prepare(request)?.lookupKeys ?? [] }
            for (index, job) in jobs.enumerated() {
                let found = job.engine.prepare(request)?.lookupKeys ?? []
                #expect(found.count <= 1)
                keys[1 + index] += found
            }
        }
        let sets = keys.map { Set($0.map(\.bytes)) }
        #expect(sets.allSatisfy { !$0.isEmpty })
        #expect(sets[0].isDisjoint(with: sets[1]) && sets[0].isDisjoint(with: sets[2]))
        #expect(sets[1].isDisjoint(with: sets[2]))
        for bytes in sets.joined() { #expect(StoreKey(bytes: bytes)?.bytes == bytes) }
    }

    /// Mutant: the key of a job is in the common partition.
    @Test(arguments: [CacheKind.shared, .private]) func noOtherEngineServesBytesOfJob(kind: CacheKind) async throws {
        let memory = InMemoryResponseStore()
        let recorded = EngineFixture(kind: .shared, memory: memory, job: Self.recording())
        recorded.transport.script(url, .ok("job's", fields: [.cacheControl: "public, max-age=600"]))
        #expect(try await recorded.get(url, key).text == "job's")
        try await recorded.untilStored("job's")
        let other = EngineFixture(kind: kind, mode: .offline, memory: memory)
        let another = EngineFixture(kind: kind, mode: .offline, memory: memory, job: JobRun(partition: "two"))
        for fields: HTTPFields in [[:], key] {
            #expect(await other.failure(url, fields) == .offlineMiss)
            #expect(await another.failure(url, fields) == .offlineMiss)
        }
        // And a job serves nothing that others stored.
        let plain = EngineFixture(kind: kind, memory: memory)
        plain.transport.script(url, .fresh("everyone's"))
        #expect(try await plain.get().text == "everyone's")
        try await plain.untilStored("everyone's")
        #expect(await another.failure() == .offlineMiss)
        let replayed = EngineFixture(kind: kind, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        #expect(try await replayed.get().text == "job's")
    }

    @Test func removalOfJobLeavesOthers() async throws {
        let memory = InMemoryResponseStore()
        for (name, text) in [("one", "first"), ("two", "second")] {
            let fixture = EngineFixture(kind: .shared, memory: memory, job: JobRun(partition: name))
            fixture.transport.script(url, .fresh(text))
            try await fixture.get()
            try await fixture.untilStored(text)
        }
        let plain = EngineFixture(kind: .shared, memory: memory)
        plain.transport.script(url, .fresh("everyone's"))
        try await plain.get()
        try await plain.untilStored("everyone's")
        _ = try await memory.invalidate(.principal("one"), .remove, at: plain.clock.now())
        #expect(Set(memory.all.map(\.key.components.partition)) == [.common, .job("two")])
    }

    // MARK: Identities

    @Test func recordingWithKeyIsReplayedWithoutOne() async throws {
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: Self.recording())
        let fields: HTTPFields = [.cacheControl: "private, max-age=600", .vary: "Authorization, Accept"]
        fixture.transport.script(url, .ok("hers", fields: fields))
        try await fixture.get(url, key)
        await fixture.untilIdle()
        let replayed = EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        #expect(try await replayed.get().text == "hers")
        #expect(try await replayed.get(url, [.authorization: "Bearer another"]).text == "hers")
        // The selecting fields that are no credentials still count.
        #expect(await replayed.failure(url, [.accept: "text/html"]) == .offlineMiss)
    }

    /// Mutant: identities are not compared.
    @Test func secondCredentialsArePassedOnAndReported() async throws {
        let seen = JobExchanges()
        let memory = InMemoryResponseStore()
        let job = Self.recording()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: job, exchanges: seen)
        fixture.transport.script(url, .fresh("anyone's"), .fresh("other's"))
        fixture.transport.script("https://a.example/own", .fresh("hers"), .fresh("other's"))
        fixture.transport.script("https://b.example/", .fresh("there"))
        let other: HTTPFields = [.authorization: "Bearer other"]
        try await fixture.get("https://a.example/own", key)
        try await fixture.get(url)
        #expect(try await fixture.get("https://a.example/own", other).text == "other's")
        // Each origin has an identity of its own.
        #expect(try await fixture.get("https://b.example/", other).text == "there")
        await fixture.untilIdle()
        #expect(seen.endings == ["kept", "kept", "credentials", "kept"])
        #expect(memory.all.count == 3)
        let replayed = EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        #expect(try await replayed.get("https://a.example/own").text == "hers")
    }

    /// A rule that needs requests without credentials applies to a job's one identity.
    ///
    /// Mutant: 'credentials: none' applies to jobs.
    @Test func rulesForRequestsWithoutCredentialsApplyToJobs() async throws {
        let memory = InMemoryResponseStore()
        let rules = TestRules {
            $0.admitsCredentials = false
            $0.keyedContent = .json
            $0.ignoredMembers = MemberPaths(["user"])
            $0.fromOrigin = OriginFieldEdits(removed: [.server], vary: [.accept])
        }
        let fixture = EngineFixture(kind: .shared, rules: rules, memory: memory, job: Self.recording(posts: true))
        fixture.transport.script(url, .ok("answer", fields: [.server: "x"]))
        func content(_ json: String, _ credentials: HTTPFields) throws -> CacheRequest {
            var request = try fixture.request(method: .post)
            for field in credentials { request.head.headerFields.append(field) }
            request.head.headerFields[.contentType] = "application/json"
            request.body = .buffer(ByteBuffer(string: json))
            return request
        }
        let recorded = try await fixture.engine.respond(to: content(#"{"q":1,"user":"a"}"#, key))
        #expect(String(buffer: try await recorded.body.collect(upTo: 99)) == "answer")
        #expect(!recorded.head.headerFields.contains(.server) && recorded.head.headerFields[.vary] == "Accept")
        await fixture.untilIdle()
        var use = JobRun.Use()
        use.keysPosts = true
        let replayed = EngineFixture(
            kind: .shared,
            mode: .offline,
            rules: rules,
            memory: memory,
            job: JobRun(partition: "one", use)
        )
        let answer = try await replayed.engine.respond(to: content(#"{"user":"b","q":1}"#, [:]))
        #expect(String(buffer: try await answer.body.collect(upTo: 99)) == "answer")
        // No rule leaves it out of an engine without a job.
        let stored = try #require(memory.all.first)
        #expect(!RuledResponse(stored, rules: rules, policy: CachePolicy(kind: .shared)).isPassedBy)
    }

    // MARK: No credential is kept

    @Test func storeAndReportsHoldNoCredential() async throws {
        let seen = JobExchanges()
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: Self.recording(), exchanges: seen)
        let (secret, cookie) = ("5ecret-key", "c00kie-of-session")
        let url = "https://a.example/feed?api_key=\(secret)&page=1"
        let token = try #require(HTTPField.Name("X-Auth-Token"))
        let answer: HTTPFields = [
            .cacheControl: "max-age=600", .vary: "Authorization, Cookie", .setCookie: "sid=\(cookie)", token: cookie,
        ]
        fixture.transport.script(url, .ok("text", fields: answer))
        let fields: HTTPFields = [.authorization: "Bearer \(secret)", .cookie: "sid=\(cookie)", .accept: "text/plain"]
        let first = try await fixture.get(url, fields)
        // The command that is recorded gets the cookie.
        #expect(first.response.head.headerFields[.setCookie] == "sid=\(cookie)")
        #expect(fixture.transport.requests.first?.path == "/feed?api_key=\(secret)&page=1")
        await fixture.untilIdle()
        let stored = try #require(memory.all.first)
        let exchange = try #require(seen.all.first)
        #expect(exchange.request.target.uri == "https://a.example/feed?page=1")
        let down = "https://a.example/down?api_key=\(secret)"
        fixture.transport.script(down, repeating: .failure(.connect))
        #expect(await fixture.failure(down, fields) != nil)
        let failed = try #require(seen.all.last)
        #expect(failed.request.target.uri == "https://a.example/down" && failed.asked[.accept] == "text/plain")
        let kept = [
            stored.head.fields, stored.head.selectingFields, exchange.request.fields, failed.request.fields,
            failed.asked,
        ].joined()
        for hidden in [secret, cookie] {
            #expect(kept.allSatisfy { !$0.value.contains(hidden) })
            #expect(!stored.key.bytes.contains(Array(hidden.utf8)))
        }
        // Without the key and the cookies, it is found.
        let replayed = EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        #expect(try await replayed.get("https://a.example/feed?page=1").text == "text")
    }

    /// A request without secret parameters may name a target that has some.
    ///
    /// Mutant: a job invalidates targets with their secrets.
    @Test func invalidatedTargetHasNoSecrets() async throws {
        let fixture = EngineFixture(kind: .shared, job: Self.recording())
        let url = "https://a.example/feed?api_key=5ecret"
        fixture.transport.script(url, .fresh("one"), .fresh("two"))
        fixture.transport.script("https://a.example/feeds", .ok("", fields: [.location: url]))
        #expect(try await fixture.get(url).text == "one")
        await fixture.untilIdle()
        #expect(try await fixture.get(url).text == "one")
        try await fixture.get("https://a.example/feeds", method: .post)
        #expect(try await fixture.get(url).text == "two")
    }

    /// Such a parameter may be a secret, or select the response: a replay must not answer `closed`
    /// with the response to `open`.
    @Test(arguments: ["page_token=abcdef", "state=open", "API_KEY=5ecret", "a=1;token=5ecret"])
    func urlThatMayHoldASecretIsNotRecorded(_ query: String) async throws {
        let seen = JobExchanges()
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: Self.recording(), exchanges: seen)
        let url = "https://a.example/feed?\(query)"
        fixture.transport.script(url, .fresh("text"))
        #expect(try await fixture.get(url).text == "text")
        #expect(seen.endings == ["parameters"])
        #expect(memory.all.isEmpty)
    }

    @Test func namedParametersAreSecretOrPublic() async throws {
        var use = JobRun.Use()
        use.secretParameters = ["key"]
        use.publicParameters = ["state"]
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: JobRun(partition: "one", use))
        for state in ["open", "closed"] {
            let url = "https://a.example/issues?key=5ecret&state=\(state)"
            fixture.transport.script(url, .fresh(state))
            try await fixture.get(url)
        }
        await fixture.untilIdle()
        let replayed = EngineFixture(
            kind: .shared,
            mode: .offline,
            memory: memory,
            job: JobRun(partition: "one", use)
        )
        for state in ["open", "closed"] {
            #expect(try await replayed.get("https://a.example/issues?key=other&state=\(state)").text == state)
        }
    }

    // MARK: Requests

    @Test func postIsRecordedIfAskedFor() async throws {
        for posts in [false, true] {
            let seen = JobExchanges()
            let fixture = EngineFixture(kind: .shared, job: Self.recording(posts: posts), exchanges: seen)
            fixture.transport.script(url, .ok("answer"))
            var request = try fixture.request(method: .post)
            request.body = .buffer(ByteBuffer(string: "{}"))
            let response = try await fixture.engine.respond(to: request)
            #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)) == "answer")
            await fixture.untilIdle()
            let exchange = try #require(seen.all.first)
            if posts {
                #expect(seen.endings == ["kept"])
                #expect(exchange.request.content?.count == 32)
                // The digest is enough to find the response.
                let subject = try fixture.engine.subject(of: exchange.request)
                #expect(subject.offlineRefusal(at: fixture.clock.now()) == nil)
            } else {
                #expect(seen.endings == ["unsafe"])
                #expect(fixture.memory.all.isEmpty)
            }
        }
    }

    @Test func exchangesAreReportedWithFieldsThatSelectThem() async throws {
        let seen = JobExchanges()
        let fixture = EngineFixture(kind: .shared, job: Self.recording(), exchanges: seen)
        fixture.transport.script(url, .ok("a", fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"]))
        fixture.transport.script("https://a.example/no", .ok("b", fields: [.cacheControl: "no-store"]))
        let fields: HTTPFields = [.acceptLanguage: "de", .accept: "*/*", .userAgent: "test/1"]
        try await fixture.get(url, fields)
        await fixture.untilIdle()
        try await fixture.get(url, fields)
        try await fixture.get("https://a.example/no", fields)
        let exchanges = seen.all
        #expect(exchanges.map(\.ordinal) == [1, 2, 3])
        #expect(
            exchanges.map(\.request.fields) == [
                [.acceptLanguage: "de"], [.acceptLanguage: "de"], [.accept: "*/*", .acceptLanguage: "de"],
            ]
        )
        #expect(seen.endings == ["kept", "kept", "responseNoStore"])
    }

    @Test func recordedResponsesAreServedDespiteTheirDirectives() async throws {
        let memory = InMemoryResponseStore()
        let fixture = EngineFixture(kind: .shared, memory: memory, job: Self.recording())
        fixture.transport.script(url, .ok("a", fields: [.cacheControl: "no-cache, must-revalidate", .eTag: "\"1\""]))
        try await fixture.get()
        await fixture.untilIdle()
        let replayed = EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
        #expect(await replayed.failure() == .staleForbidden)
        var use = JobRun.Use()
        use.isAsRecorded = true
        let asRecorded = EngineFixture(
            kind: .shared,
            mode: .offline,
            memory: memory,
            job: JobRun(partition: "one", use)
        )
        #expect(try await asRecorded.get().text == "a")
    }
}

/// Keeps the exchanges that an engine reports.
final class JobExchanges: Sendable {
    private let list = Mutex<[JobExchange]>([])

    var all: [JobExchange] { list.withLock { $0 } }

    func take(_ exchange: JobExchange) { list.withLock { $0.append(exchange) } }

    /// How the exchanges ended, in a word each.
    var endings: [String] {
        all.map { exchange in
            switch exchange.ending {
            case .kept: "kept"
            case .passed(let refusal): refusal.rawValue
            case .excluded(let exclusion): exclusion.rawValue
            case .unsafe: "unsafe"
            case .failed(let code, _): code
            }
        }
    }
}
