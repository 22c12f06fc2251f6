import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCacheOperations

/// Each range of a recorded command is a request of the job, with a response of its own.
@Suite(.timeLimit(.minutes(20))) struct JobRangeTests {
    private static let url = EngineFixture.url
    private static let length = 600
    private static let whole = String((0..<length).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
    /// Thirty ranges, which do not touch each other.
    private static let ranges: [Range<Int>] = (0..<30).map { $0 * 20..<($0 * 20 + 10) }

    private let memory = InMemoryResponseStore()

    private static func text(_ range: Range<Int>) -> String {
        String(whole.dropFirst(range.lowerBound).prefix(range.count))
    }

    private static func fields(_ range: Range<Int>) -> HTTPFields {
        [.range: "bytes=\(range.lowerBound)-\(range.upperBound - 1)"]
    }

    private static func reply(_ range: Range<Int>, beforeEnd gate: Gate? = nil) -> ScriptedTransport.Reply {
        var reply = ScriptedTransport.Reply.fresh(text(range), etag: "\"1\"", beforeEnd: gate)
        reply.head.status = .partialContent
        reply.head.headerFields[.vary] = "Accept-Encoding"
        reply.head.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        return reply
    }

    private func recording(_ exchanges: JobExchanges? = nil) -> EngineFixture {
        var use = JobRun.Use()
        use.comparesIdentities = true
        return EngineFixture(kind: .shared, memory: memory, job: JobRun(partition: "one", use), exchanges: exchanges)
    }

    private func replay() -> EngineFixture {
        EngineFixture(kind: .shared, mode: .offline, memory: memory, job: JobRun(partition: "one"))
    }

    /// Mutant: parts of a job replace each other.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func thirtyRangesAreReplayedInWhateverOrderTheyEnd(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let exchanges = JobExchanges()
        let recorded = recording(exchanges)
        let gates = Self.ranges.map { _ in Gate() }
        recorded.transport.script(Self.url) { received in
            let place = Self.ranges.firstIndex { Self.fields($0)[.range] == received.head.headerFields[.range] } ?? 0
            return Self.reply(Self.ranges[place], beforeEnd: gates[place])
        }
        var responses: [Int: CacheResponse] = [:]
        for place in Self.ranges.indices.shuffled(using: &random) {
            let request = try recorded.request(Self.url, Self.fields(Self.ranges[place]))
            responses[place] = try await recorded.engine.respond(to: request)
        }
        for place in Self.ranges.indices.shuffled(using: &random) {
            gates[place].open()
            let response = try #require(responses[place])
            #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)) == Self.text(Self.ranges[place]))
        }
        await recorded.untilIdle()

        let replayed = replay()
        for range in Self.ranges {
            let text = try? await replayed.get(Self.url, Self.fields(range)).text
            #expect(text == Self.text(range), "seed \(seed), range \(range)")
        }
        #expect(await replayed.failure(Self.url) == .offlineMiss)
        #expect(await replayed.failure(Self.url, Self.fields(10..<20)) == .offlineMiss)

        var job = JobRecording()
        for exchange in exchanges.all { job.take(exchange) }
        #expect(Set(job.entries.compactMap { $0.request.fields[.range] }).count == 30)
        var forecast = JobForecast(at: replayed.clock.now())
        for entry in job.entries { forecast.take(entry, try replayed.engine.subject(of: entry.request)) }
        #expect(forecast.wouldRun && forecast.requests == 30)
    }

    /// Also if it was recorded before the complete response.
    @Test func completeResponseAnswersItsRanges() async throws {
        let recorded = recording()
        recorded.transport.script(Self.url, Self.reply(Self.ranges[0]), .fresh(Self.whole, etag: "\"1\""))
        try await recorded.get(Self.url, Self.fields(Self.ranges[0]))
        #expect(try await recorded.get().text == Self.whole)
        let range = try await recorded.get(Self.url, Self.fields(Self.ranges[1]))
        #expect(range.text == Self.text(Self.ranges[1]) && range.response.outcome.isHit)
        #expect(recorded.transport.requests.count == 2)
        await recorded.untilIdle()
        let replayed = replay()
        #expect(try await replayed.get().text == Self.whole)
        for range in Self.ranges {
            #expect(try await replayed.get(Self.url, Self.fields(range)).text == Self.text(range))
        }
    }

    /// Mutant: a 304 makes a part of a job the response to every request.
    @Test func validatedPartStaysThatOfItsRange() async throws {
        let recorded = recording()
        recorded.transport.script(Self.url, Self.reply(Self.ranges[0]), .notModified([.vary: "Accept-Encoding"]))
        try await recorded.get(Self.url, Self.fields(Self.ranges[0]))
        recorded.clock.advance(by: .seconds(120))
        let again = try await recorded.get(Self.url, Self.fields(Self.ranges[0]))
        #expect(again.text == Self.text(Self.ranges[0]) && again.response.outcome.forwardStatus == 304)
        await recorded.untilIdle()
        #expect(memory.all.map { $0.head.fields[.vary] } == ["Accept-Encoding, Range"])
        #expect(try await replay().get(Self.url, Self.fields(Self.ranges[0])).text == Self.text(Self.ranges[0]))
    }
}
