import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// Ranges of a resource that are fetched next to all of it. RFC 9111 §3.4
@Suite(.timeLimit(.minutes(20))) struct ConcurrentPartTests {
    private static let url = EngineFixture.url
    private static let length = 300
    private static let whole = String((0..<length).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
    /// The first client asks for everything, and 29 for ten bytes each.
    private static let ranges: [Range<Int>?] = [nil] + (0..<29).map { .some($0 * 10..<($0 * 10 + 10)) }

    private static func text(_ range: Range<Int>?) -> String {
        range.map { String(whole.dropFirst($0.lowerBound).prefix($0.count)) } ?? whole
    }

    private static func fields(_ range: Range<Int>?) -> HTTPFields {
        range.map { [.range: "bytes=\($0.lowerBound)-\($0.upperBound - 1)"] } ?? [:]
    }

    private static func reply(_ range: Range<Int>?, beforeEnd gate: Gate? = nil) -> ScriptedTransport.Reply {
        var reply = ScriptedTransport.Reply.fresh(text(range), etag: "\"1\"", beforeEnd: gate)
        guard let range else { return reply }
        reply.head.status = .partialContent
        reply.head.headerFields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        return reply
    }

    /// Every response ends when its gate opens.
    private static func script(_ fixture: EngineFixture, _ gates: [Gate]) {
        fixture.transport.script(url) { received in
            let place = ranges.firstIndex { fields($0)[.range] == received.head.headerFields[.range] } ?? 0
            return reply(ranges[place], beforeEnd: gates[place])
        }
    }

    private func recording() -> EngineFixture {
        var use = JobRun.Use()
        use.comparesIdentities = true
        return EngineFixture(kind: .shared, job: JobRun(partition: "one", use))
    }

    /// Mutant: a newer part replaces a complete response.
    @Test(arguments: 0..<20 as Range<UInt64>, [false, true])
    func everyRangeIsStoredInWhateverOrderResponsesEnd(seed: UInt64, isRecorded: Bool) async throws {
        var random = SeededRandom(seed: seed)
        let fixture = isRecorded ? recording() : EngineFixture()
        let gates = Self.ranges.map { _ in Gate() }
        Self.script(fixture, gates)
        var responses: [Int: CacheResponse] = [:]
        for place in Self.ranges.indices.shuffled(using: &random) {
            let request = try fixture.request(Self.url, Self.fields(Self.ranges[place]))
            responses[place] = try await fixture.engine.respond(to: request)
        }
        #expect(fixture.transport.requests.count == 30)
        for place in Self.ranges.indices.shuffled(using: &random) {
            gates[place].open()
            let response = try #require(responses[place])
            #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)) == Self.text(Self.ranges[place]))
        }
        await fixture.untilIdle()
        fixture.engine.mode = .offline
        for range in Self.ranges {
            let stored = try? await fixture.get(Self.url, Self.fields(range)).text
            #expect(stored == Self.text(range), "seed \(seed), range \(String(describing: range))")
        }
    }

    /// Mutant: a complete response is committed next to parts of its variant.
    @Test func wholeIsStoredAfterPartThatIsBeingStored() async throws {
        let fixture = EngineFixture()
        let gates = Self.ranges.map { _ in Gate() }
        Self.script(fixture, gates)
        let part = try await fixture.engine.respond(to: fixture.request(Self.url, Self.fields(Self.ranges[1])))
        let whole = try await fixture.engine.respond(to: fixture.request(Self.url))
        let isStoring = Gate()
        fixture.store.hold([.finish], at: isStoring)
        gates[1].open()
        // Only the part waits in the store.
        for _ in 0..<1000 { await Task.yield() }
        fixture.store.recover()
        gates[0].open()
        for _ in 0..<1000 { await Task.yield() }
        isStoring.open()
        #expect(String(buffer: try await part.body.collect(upTo: 1 << 20)) == Self.text(Self.ranges[1]))
        #expect(String(buffer: try await whole.body.collect(upTo: 1 << 20)) == Self.whole)
        await fixture.untilIdle()
        #expect(try await fixture.get(Self.url, preference: .storedOnly).text == Self.whole)
    }

    /// Mutant: a request for a range does not look again.
    @Test func rangeIsServedFromWholeThatWasStoredSinceItsLookup() async throws {
        let fixture = recording()
        fixture.transport.script(Self.url, Self.reply(nil), Self.reply(Self.ranges[1]))
        let request = try fixture.request(Self.url, Self.fields(Self.ranges[1]))
        let attempt = fixture.engine.attempt(on: try #require(fixture.engine.prepare(request)))
        guard case .fetch = attempt.begin() else {
            Issue.record("Something was stored.")
            return
        }
        try await fixture.get()
        let response = try await fixture.engine.respond(to: attempt)
        #expect(String(buffer: try await response.body.collect(upTo: 1 << 20)) == Self.text(Self.ranges[1]))
        #expect(response.outcome.isHit && fixture.transport.requests.count == 1)
    }
}
