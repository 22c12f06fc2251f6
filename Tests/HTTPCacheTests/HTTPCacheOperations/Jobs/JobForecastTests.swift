import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCacheOperations

/// The forecast of a job comes true when it is replayed.
@Suite(.timeLimit(.minutes(20))) struct JobForecastTests {
    private struct Recorded {
        let memory: InMemoryResponseStore
        let start: Timestamp
        var entries: [JobFile.Entry]
        let urls: [String]
    }

    /// Records a response with each of these fields.
    private func record(_ responses: [HTTPFields], status: HTTPResponse.Status = .ok) async throws -> Recorded {
        let exchanges = JobExchanges()
        var use = JobRun.Use()
        use.comparesIdentities = true
        let memory = InMemoryResponseStore()
        let job = JobRun(partition: "one", use)
        let fixture = EngineFixture(kind: .shared, memory: memory, job: job, exchanges: exchanges)
        let urls = responses.indices.map { "https://a.example/\($0)" }
        for (url, fields) in zip(urls, responses) {
            fixture.transport.script(url, .status(status, "text", fields: fields))
            try await fixture.get(url)
        }
        await fixture.untilIdle()
        var recording = JobRecording()
        for exchange in exchanges.all { recording.take(exchange) }
        return Recorded(memory: memory, start: fixture.clock.now(), entries: recording.entries, urls: urls)
    }

    /// Judges a job some time after it was recorded, and replays its requests then.
    ///
    /// - Parameter memory: the store; `nil` for that of the recording.
    private func judge(
        _ recorded: Recorded,
        after time: Duration,
        from memory: InMemoryResponseStore? = nil
    ) async throws -> (forecast: JobForecast, refused: [String]) {
        let job = JobRun(partition: "one")
        let fixture = EngineFixture(kind: .shared, mode: .offline, memory: memory ?? recorded.memory, job: job)
        fixture.clock.advance(by: time)
        var forecast = JobForecast(at: fixture.clock.now())
        for entry in recorded.entries { forecast.take(entry, try fixture.engine.subject(of: entry.request)) }
        var refused: [String] = []
        for url in recorded.urls {
            if await fixture.failure(url) != nil { refused.append(url) }
        }
        return (forecast, refused)
    }

    private static let lifetimes = [
        "max-age=60", "max-age=600", "max-age=60, must-revalidate", "no-cache", "max-age=0", "no-store",
        "private, max-age=60", "s-maxage=60", "max-age=60, stale-if-error=60",
    ]

    /// Jobs of random responses, judged and replayed at random times.
    ///
    /// Mutant: a request that is refused is not counted.
    @Test(arguments: 0..<60 as Range<UInt64>) func forecastComesTrue(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let responses = (0..<4).map { _ -> HTTPFields in
            let lifetime = Self.lifetimes.randomElement(using: &random) ?? ""
            return [.cacheControl: lifetime, .eTag: "\"1\""]
        }
        let recorded = try await record(responses)
        #expect(recorded.entries.count == responses.count)
        for seconds in [0, 59, 61, 599, 100_000] {
            let (forecast, refused) = try await judge(recorded, after: .seconds(seconds))
            #expect(forecast.wouldRun == refused.isEmpty, "seed \(seed), \(seconds) s")
            #expect(Set(forecast.refused.map(\.request.target.uri)) == Set(refused), "seed \(seed), \(seconds) s")
            #expect(forecast.refusedCount == refused.count)
        }
    }

    /// Mutant: the end of a job is that of its last request.
    @Test func endIsThatOfTheFirstRequestThatEnds() async throws {
        let recorded = try await record([
            [.cacheControl: "max-age=60, must-revalidate"], [.cacheControl: "max-age=600, must-revalidate"],
            [.cacheControl: "max-age=60"],
        ])
        let forecast = try await judge(recorded, after: .zero).forecast
        let end = try #require(forecast.end)
        #expect(end.because.request.target.path == "/0" && end.because.reason == "must-revalidate")
        #expect(end.instant.milliseconds(since: recorded.start) == 60_000)
        #expect(try await judge(recorded, after: .seconds(59)).refused.isEmpty)
        #expect(try await judge(recorded, after: .seconds(60)).refused == ["https://a.example/0"])
        // Without such a directive, a job runs however stale its responses are.
        let lasting = try await record([[.cacheControl: "max-age=1"]])
        #expect(try await judge(lasting, after: .zero).forecast.end == nil)
    }

    @Test func excludedRequestNeverRuns() async throws {
        var recorded = try await record([[.cacheControl: "max-age=600"]])
        recorded.entries[0].why = JobRun.Exclusion.credentials.rawValue
        let forecast = try await judge(recorded, after: .zero).forecast
        #expect(!forecast.wouldRun && forecast.refused.first?.reason == "credentials")
    }

    @Test func reasonIsThatOfTheRecordingIfNothingIsStored() async throws {
        let recorded = try await record([[.cacheControl: "no-store"]])
        let forecast = try await judge(recorded, after: .zero).forecast
        #expect(forecast.refused.map(\.reason) == ["responseNoStore"])
    }

    /// It is recorded, so it need not be recorded again to be served.
    ///
    /// Mutant: a stored error counts as missing.
    @Test func storedErrorThatIsNotFreshIsTold() async throws {
        let recorded = try await record([[.cacheControl: "max-age=60"]], status: .notFound)
        #expect(recorded.entries.map(\.why) == [nil])
        let fresh = try await judge(recorded, after: .seconds(1)).forecast
        #expect(fresh.wouldRun && fresh.end?.because.reason == "stale-error")
        let stale = try await judge(recorded, after: .seconds(61)).forecast
        #expect(stale.refused.map(\.reason) == ["stale-error"] && stale.losesRecorded)
        #expect(stale.refused.first?.words == "its 404 is no longer fresh; '--as-recorded' serves it")
    }

    @Test func responseThatIsNoLongerStoredIsTold() async throws {
        let recorded = try await record([[.cacheControl: "max-age=60"]])
        let forecast = try await judge(recorded, after: .zero, from: InMemoryResponseStore()).forecast
        #expect(forecast.refused.map(\.reason) == ["removed"] && forecast.losesRecorded)
        #expect(forecast.refused.first?.words == "its complete response is not in the store")
        let unstored = try await record([[.cacheControl: "no-store"]])
        let judged = try await judge(unstored, after: .zero)
        #expect(!judged.forecast.losesRecorded)
    }

    // MARK: Content

    private typealias Rule = (content: ExchangeSettings.KeyedContent, ignored: [String])

    private static let rules: [Rule] = [
        (.asRequested, []), (.any, []), (.graphQL, []), (.json, []), (.json, ["user"]), (.json, ["user", "query"]),
        (.json, ["query", "user"]),
    ]

    private static let contents = [
        #"{ "user": 1, "model": 2 }"#, #"{"model":2}"#, #"{ "query": "{ a }" }"#, #"{"query":"mutation { a }"}"#,
    ]

    private func engine(
        _ rule: Rule,
        _ memory: InMemoryResponseStore,
        mode: OfflineMode = .automatic,
        exchanges: JobExchanges? = nil
    ) -> EngineFixture {
        let rules = TestRules {
            $0.keyedContent = rule.content
            $0.ignoredMembers = MemberPaths(rule.ignored)
        }
        let job = JobRun(partition: "one")
        return EngineFixture(kind: .shared, mode: mode, rules: rules, memory: memory, job: job, exchanges: exchanges)
    }

    private func post(_ content: String, _ type: String, to fixture: EngineFixture) async throws {
        var request = try fixture.request(EngineFixture.url, [.contentType: type], method: .post)
        request.body = .buffer(ByteBuffer(string: content))
        let response = try await fixture.engine.respond(to: request)
        _ = try await response.body.collect(upTo: 1 << 20)
    }

    /// Records a POST by one rule, and judges and replays it by another.
    ///
    /// - Parameter change: changes the entries of the job before they are judged.
    private func judge(
        _ content: String,
        _ type: String = "application/json",
        from recorded: Rule,
        to replayed: Rule,
        _ change: (inout JobFile.Entry) -> Void = { _ in }
    ) async throws -> (forecast: JobForecast, isAnswered: Bool) {
        let memory = InMemoryResponseStore()
        let exchanges = JobExchanges()
        let recorder = engine(recorded, memory, exchanges: exchanges)
        recorder.transport.script(EngineFixture.url, .fresh("text"))
        try await post(content, type, to: recorder)
        await recorder.untilIdle()
        var recording = JobRecording()
        for exchange in exchanges.all { recording.take(exchange) }
        let player = engine(replayed, memory, mode: .offline)
        var forecast = JobForecast(at: player.clock.now())
        for var entry in recording.entries {
            change(&entry)
            forecast.take(entry, try player.engine.subject(of: entry.request))
        }
        let isAnswered = (try? await post(content, type, to: player)) != nil
        return (forecast, isAnswered)
    }

    /// A job has only digests of content. Under other rules, its forecast promises no response that
    /// a replay refuses.
    ///
    /// Mutant: content is found by its digest whatever the rules.
    @Test(arguments: rules.indices, rules.indices)
    func forecastPromisesNoContentThatOtherRulesRefuse(recorded: Int, replayed: Int) async throws {
        let (before, after) = (Self.rules[recorded], Self.rules[replayed])
        for content in Self.contents {
            let (forecast, isAnswered) = try await judge(content, from: before, to: after)
            #expect(isAnswered || !forecast.wouldRun, "\(before), \(after), \(content)")
            let isSame = before.content == after.content && Set(before.ignored) == Set(after.ignored)
            if isSame { #expect(forecast.wouldRun == isAnswered, "\(before), \(content)") }
        }
    }

    @Test func contentWithTheSameDigestIsFoundByOtherRules() async throws {
        let query = try await judge(Self.contents[2], from: (.graphQL, []), to: (.any, []))
        #expect(query.forecast.wouldRun && query.isAnswered)
        for (before, after) in [(1, 3), (3, 4), (4, 1)] {
            let text = try await judge("a=1", "text/plain", from: Self.rules[before], to: Self.rules[after])
            #expect(text.forecast.wouldRun && text.isAnswered, "\(before), \(after)")
        }
    }

    @Test(arguments: [(1, 3), (3, 1), (3, 4), (4, 3), (3, 0), (1, 2)])
    func otherRulesForContentAreTold(recorded: Int, replayed: Int) async throws {
        let (before, after) = (Self.rules[recorded], Self.rules[replayed])
        let (forecast, isAnswered) = try await judge(Self.contents[0], from: before, to: after)
        #expect(!isAnswered && forecast.refused.map(\.reason) == ["content-rules"] && forecast.losesRecorded)
        #expect(forecast.refused.first?.words.contains("the rules for its content") == true)
    }

    /// Files that were made before the form was in them.
    @Test(arguments: 1..<rules.count) func contentOfUnknownFormIsJudgedByTheRules(rule: Int) async throws {
        let rule = Self.rules[rule]
        let (forecast, isAnswered) = try await judge(Self.contents[2], from: rule, to: rule) { $0.request.form = nil }
        #expect(forecast.wouldRun && isAnswered)
    }

    @Test func jobWithoutRequestsWouldNotRun() { #expect(!JobForecast(at: Timestamp(milliseconds: 0)).wouldRun) }
}
