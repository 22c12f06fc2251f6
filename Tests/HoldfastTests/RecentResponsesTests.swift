import Holdfast
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache
@testable import Holdfast

/// What is kept of responses that are not stored: a value, and events.
@Suite("Recent responses") struct RecentResponsesTests {
    private static let start = Timestamp(milliseconds: 1_000_000)
    private static let window = Duration.seconds(2)

    private func request(_ path: String = "/x", _ fields: HTTPFields = [:], _ principal: String? = nil) -> CacheRequest
    {
        CacheRequest(
            head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path, headerFields: fields),
            principal: principal
        )
    }

    private func identity(_ path: String = "/x") -> ExchangeIdentity {
        ExchangeIdentity(RequestIdentity(request(path)))
    }

    private func response(_ content: String = "a", bytes: Int? = nil) -> CacheResponse {
        CacheResponse(
            head: HTTPResponse(status: .ok),
            body: BodyStream(bytes.map { ByteBuffer(repeating: 1, count: $0) } ?? ByteBuffer(string: content)),
            source: .network,
            age: 5,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: CacheOutcome(forward: .uriMiss)
        )
    }

    private let fence = InvalidationSequence(7)

    /// Keeps a response; `nil` where it was not asked for.
    private func keep(
        _ response: CacheResponse?,
        for path: String = "/x",
        at now: Timestamp = start,
        within window: Duration = window,
        in recent: inout RecentResponses
    ) {
        guard case .leads(let number) = recent.arrive(identity(path), within: window, at: now, fence) else {
            Issue.record("'\(path)' was not asked for.")
            return
        }
        recent.finish(number, response.flatMap { RecentResponse($0, at: now) }, fence)
    }

    private func isAnswered(
        _ recent: inout RecentResponses,
        _ path: String = "/x",
        at now: Timestamp = start,
        within window: Duration = window,
        _ fence: InvalidationSequence? = nil
    ) -> Bool {
        if case .answered = recent.arrive(identity(path), within: window, at: now, fence ?? self.fence) { return true }
        return false
    }

    @Test func answersWithinTheWindowAndNotAfterIt() {
        for (elapsed, isAnswer) in [(0, true), (2000, true), (2001, false), (-2000, true), (-2001, false)] {
            var recent = RecentResponses(.init(bytes: 800))
            keep(response(), in: &recent)
            let now = Self.start.adding(milliseconds: Int64(elapsed))
            #expect(isAnswered(&recent, at: now) == isAnswer, "\(elapsed)")
        }
        // A shorter window is the caller's choice; a longer one finds what is still kept.
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        let later = Self.start.adding(milliseconds: 1500)
        #expect(!isAnswered(&recent, at: later, within: .seconds(1)))
        #expect(isAnswered(&recent, at: later, within: .seconds(60)))
    }

    @Test func whatAnswersIsMarked() throws {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response("a"), in: &recent)
        let arrival = recent.arrive(identity(), within: .seconds(2), at: Self.start.adding(milliseconds: 1200), fence)
        guard case .answered(let answer) = arrival else { throw HoldfastError(code: .noData, message: "") }
        #expect(answer.source == .store && answer.isStale && answer.age == 1205)
        #expect(answer.outcome == CacheOutcome(isHit: true, detail: .recent))
        #expect(answer.body.whole == ByteBuffer(string: "a"))
    }

    @Test func onlyWhatTheStoreDoesNotAnswerWithIsKept() {
        func isKept(_ change: (inout CacheResponse) -> Void) -> Bool {
            var response = response()
            change(&response)
            return RecentResponse(response, at: Self.start) != nil
        }
        #expect(isKept { _ in })
        #expect(!isKept { $0.head.status = .notFound } && !isKept { $0.head.status = .internalServerError })
        #expect(!isKept { $0.source = .store } && !isKept { $0.source = .substitute })
        #expect(!isKept { $0.outcome.isCollapsed = true })
        #expect(!isKept { $0.body = BodyStream { { nil } } })
        #expect(!isKept { $0.outcome.isStored = true })
        for directive in ["no-store", "no-cache", "must-revalidate", "max-age=60, must-revalidate"] {
            let isStored = isKept { response in
                response.outcome.isStored = true
                response.head.headerFields[.cacheControl] = directive
            }
            #expect(isStored, "\(directive)")
        }
    }

    @Test func whatIsStoredIsAsFreshAsItSays() throws {
        var fresh = response()
        fresh.outcome.isStored = true
        fresh.head.headerFields[.cacheControl] = "max-age=1, must-revalidate"
        let kept = try #require(RecentResponse(fresh, at: Self.start))
        let stale = [0, 999, 1000, 5000].map { kept.answer(at: Self.start.adding(milliseconds: $0)).isStale }
        #expect(stale == [false, false, true, true])
    }

    @Test func callsJoinAnExchangeUntilItEnds() {
        var recent = RecentResponses(.init(bytes: 800))
        guard case .leads(let first) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            Issue.record("The first call begins.")
            return
        }
        for _ in 0..<30 {
            guard case .joins(first) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
                Issue.record("The others join.")
                return
            }
        }
        recent.finish(first, nil, fence)
        // A failure is nobody's later.
        guard case .leads(let second) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            Issue.record("The next call begins.")
            return
        }
        #expect(second != first)
    }

    @Test func theLastCallThatLeavesEndsTheExchange() {
        var recent = RecentResponses(.init(bytes: 800))
        guard case .leads(let number) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            return
        }
        _ = recent.arrive(identity(), within: Self.window, at: Self.start, fence)
        let isLast = [recent.leave(number), recent.leave(number)]
        #expect(isLast == [false, true])
        // Its late response is not kept, and nobody joins it.
        recent.finish(number, RecentResponse(response(), at: Self.start), fence)
        let isLastAgain = recent.leave(number)
        #expect(recent.count == 0 && !isLastAgain)
        guard case .leads(let next) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            Issue.record("The next call begins.")
            return
        }
        #expect(next != number)
    }

    @Test func anInvalidationEndsWhatIsKeptAndWhatIsUnderWay() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        let later = InvalidationSequence(8)
        #expect(!isAnswered(&recent, at: Self.start, later) && recent.count == 0)
        // What began before it is not joined by calls after it, and not kept.
        guard case .leads(let old) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, fence),
            case .leads(let new) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, later)
        else {
            Issue.record("Both begin.")
            return
        }
        recent.finish(new, RecentResponse(response("new"), at: Self.start), later)
        recent.finish(old, RecentResponse(response("old"), at: Self.start), later)
        guard case .answered(let answer) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, later)
        else {
            Issue.record("The newer one answers.")
            return
        }
        #expect(answer.body.whole == ByteBuffer(string: "new"))
    }

    @Test func anotherResponseEndsWhatIsKeptAndWhatIsUnderWay() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        keep(response(), for: "/y", in: &recent)
        recent.supersede(identity().request)
        guard case .leads(let slow) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            Issue.record("It is asked for anew.")
            return
        }
        #expect(isAnswered(&recent, "/y"))
        recent.supersede(identity().request)
        guard case .leads(let next) = recent.arrive(identity(), within: Self.window, at: Self.start, fence) else {
            Issue.record("An exchange that may be older is not joined.")
            return
        }
        recent.finish(slow, RecentResponse(response(), at: Self.start), fence)
        #expect(recent.count == 1)
        recent.finish(next, RecentResponse(response(), at: Self.start), fence)
        #expect(isAnswered(&recent))
    }

    @Test func bytesAndResponsesAreLimitedAndTheOldestGoFirst() {
        var recent = RecentResponses(.init(bytes: 800, responses: 5))
        keep(response(bytes: 101), for: "/large", in: &recent)
        #expect(recent.count == 0 && recent.bytes == 0)
        for number in 0..<20 { keep(response(bytes: 100), for: "/\(number)", in: &recent) }
        #expect(recent.count == 5 && recent.bytes == 500)
        #expect(!isAnswered(&recent, "/14") && isAnswered(&recent, "/15") && isAnswered(&recent, "/19"))
        var heavy = RecentResponses(.init(bytes: 800))
        for number in 0..<20 { keep(response(bytes: 100), for: "/\(number)", in: &heavy) }
        #expect(heavy.count == 8 && heavy.bytes == 800)
        #expect(!isAnswered(&heavy, "/11") && isAnswered(&heavy, "/12"))
    }

    @Test func whatIsTooOldIsLetGoOf() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), for: "/long", within: .seconds(10), in: &recent)
        keep(response(), for: "/short", within: .seconds(2), in: &recent)
        #expect(recent.removeOld(at: Self.start) == .milliseconds(2001) && recent.count == 2)
        #expect(recent.removeOld(at: Self.start.adding(milliseconds: 2001)) == .milliseconds(8000))
        #expect(recent.count == 1 && recent.bytes == 1)
        #expect(recent.removeOld(at: Self.start.adding(milliseconds: 10_001)) == nil && recent.count == 0)
    }

    @Test func requestsAreTheSameToTheByte() {
        let base = RequestIdentity(request("/x", [.authorization: "Bearer a"], "anna"))
        #expect(base == RequestIdentity(request("/x", [.authorization: "Bearer a"], "anna")))
        for other in [
            request("/x", [.authorization: "Bearer b"], "anna"), request("/x", [:], "anna"),
            request("/x", [.authorization: "Bearer a"], "bert"), request("/x", [.authorization: "Bearer a"]),
            request("/x?a", [.authorization: "Bearer a"], "anna"),
            request("/x", [.authorization: "Bearer a", .cookie: "a=b"], "anna"),
        ] {
            #expect(base != RequestIdentity(other), "\(other)")
        }
        // Equal to people, and not to anybody else.
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(RequestIdentity(request("/x", [:], composed)) != RequestIdentity(request("/x", [:], decomposed)))
        #expect(RequestIdentity(request("/\(composed)")) != RequestIdentity(request("/\(decomposed)")))
    }

    @Test func onlySafeRequestsWithoutWishesOfTheirOwnAreShared() {
        #expect(RequestIdentity(sharing: request()) != nil)
        var head = request()
        head.head.method = .head
        #expect(RequestIdentity(sharing: head) != nil)
        for method in [HTTPRequest.Method.post, .put, .patch, .delete, .options, .init("QUERY")!] {
            var unsafe = request()
            unsafe.head.method = method
            #expect(RequestIdentity(sharing: unsafe) == nil, "\(method)")
        }
        var full = request()
        full.body = .buffer(ByteBuffer(string: "a"))
        var unstored = request()
        unstored.storage = .never
        #expect(RequestIdentity(sharing: full) == nil && RequestIdentity(sharing: unstored) == nil)
        let fields: [HTTPFields] = [
            [.cacheControl: "no-cache"], [.init("Pragma")!: "no-cache"], [.range: "bytes=0-1"], [.ifNoneMatch: "\"1\""],
            [.ifModifiedSince: "Sun, 06 Nov 1994 08:49:37 GMT"],
        ]
        for fields in fields { #expect(RequestIdentity(sharing: request("/x", fields)) == nil, "\(fields)") }
    }
}
