import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct EngineOffsetTests {
    private typealias Bench = ResponseBench
    private let policy = CachePolicy(kind: .shared)

    /// The clocks of two nodes, ten minutes fast or slow, and an engine.
    @Test(arguments: [-600_000, 0, 600_000] as [Int64], [-600_000, 0, 600_000] as [Int64])
    func ageIsNeverLessWhateverTheClocksOfNodes(_ sender: Int64, _ receiver: Int64) throws {
        let bench = try Bench()
        // The sender received it at the engine's time 'now'.
        let engine = Bench.now.milliseconds
        let sent = EngineOffset(
            engine: EngineTime(milliseconds: engine),
            node: Timestamp(milliseconds: engine + sender)
        )
        var draft = bench.draft {
            $0.fields[.age] = "30"
            $0.fields[.date] = nil
            $0.explicitExpiry = nil
            $0.requestTime = Timestamp(milliseconds: engine + sender)
            $0.responseTime = Timestamp(milliseconds: engine + sender)
        }
        draft.freshUntil = Timestamp(milliseconds: engine + sender + 30_000)
        let envelope = ResponseEnvelope(draft, fencingPosition: bench.fencingPosition, body: .inline(bench.body), sent)
        #expect(envelope.respondedAt.milliseconds == engine)
        let opened = try bench.opened(bench.sealed(envelope))
        // Twelve seconds later at the receiver, whose estimate is half a second off. By the nodes'
        // own clocks it may be older, and the greater age counts.
        let more = max(0, receiver - sender)
        let now = Timestamp(milliseconds: engine + receiver + 12_000)
        for error in [-500, 0, 500] as [Int64] {
            let received = opened.draft(at: now, EngineOffset(milliseconds: -receiver + error))
            let age = policy.freshness(of: received.head, at: now).age.milliseconds
            #expect(abs(age - 42_000 - more) <= 1000, "\(age) ms")
            #expect(abs(received.freshUntil.milliseconds(since: now) - 18_000 + more) <= 1000)
        }
    }

    /// The engine tells the sender one time and the receiver another, so that the response looks
    /// younger by up to an hour.
    @Test(arguments: [-3_600_000, -1000, 0, 1000, 3_600_000] as [Int64], [0, 3_600_000] as [Int64])
    func anEngineThatLiesMakesNoResponseYounger(_ sender: Int64, _ receiver: Int64) throws {
        let bench = try Bench()
        let draft = bench.draft {
            $0.fields[.age] = nil
            $0.fields[.date] = nil
            $0.requestTime = Bench.now
            $0.responseTime = Bench.now
        }
        let told = EngineOffset(milliseconds: sender)
        let envelope = ResponseEnvelope(draft, fencingPosition: bench.fencingPosition, body: .inline(bench.body), told)
        let opened = try bench.opened(bench.sealed(envelope))
        let now = Bench.now.adding(milliseconds: 3_600_000)
        let received = opened.draft(at: now, EngineOffset(milliseconds: receiver))
        let age = policy.freshness(of: received.head, at: now).age.milliseconds
        #expect(age >= 3_600_000 && age == 3_600_000 + max(0, receiver - sender), "\(age) ms")
        #expect(received.freshUntil <= now.adding(milliseconds: -3_540_000))
        #expect(received.head.explicitExpiry.map { $0 <= now } ?? true)
    }

    @Test func nothingComesFromTheFuture() throws {
        let bench = try Bench()
        let envelope = try bench.opened(bench.sealed())
        // By the estimate it comes from ten minutes ahead.
        let now = Bench.now.adding(milliseconds: -600_000)
        let draft = envelope.draft(at: now, EngineOffset(milliseconds: 0))
        let original = bench.draft()
        #expect(draft.head.responseTime == now && draft.storedAt == now)
        #expect(draft.head.requestTime == now.adding(milliseconds: -250))
        #expect(draft.freshUntil.milliseconds(since: now) == original.freshUntil.milliseconds(since: Bench.now))
        #expect(draft.head.explicitExpiry == now.adding(milliseconds: 99_000))
        #expect(policy.freshness(of: draft.head, at: now).age.milliseconds >= 0)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max], [Int64.min, -1, 0, 1, .max])
    func endsOfTimeTrapNothing(_ offset: Int64, _ instant: Int64) throws {
        let bench = try Bench()
        let offset = EngineOffset(milliseconds: offset)
        let draft = bench.draft {
            $0.responseTime = Timestamp(milliseconds: instant)
            $0.requestTime = Timestamp(milliseconds: instant)
            $0.explicitExpiry = Timestamp(milliseconds: instant)
        }
        let envelope = ResponseEnvelope(
            draft,
            fencingPosition: bench.fencingPosition,
            body: .inline(bench.body),
            offset
        )
        let opened = try bench.opened(bench.sealed(envelope))
        for now in [Bench.now, .distantPast, .distantFuture] {
            let head = opened.draft(at: now, offset).head
            #expect(head.responseTime <= now && head.requestTime <= head.responseTime)
        }
    }

    @Test func neverStaysNever() {
        let offset = EngineOffset(milliseconds: 600_000)
        #expect(offset.engineTime(.distantFuture).milliseconds == .max)
        #expect(offset.timestamp(EngineTime(milliseconds: .max)) == .distantFuture)
        #expect(offset.timestamp(EngineTime(milliseconds: .min)) == .distantPast)
        #expect(offset.timestamp(offset.engineTime(ResponseBench.now)) == ResponseBench.now)
        #expect(offset.engineTime(ResponseBench.now).milliseconds == ResponseBench.now.milliseconds + 600_000)
    }
}
