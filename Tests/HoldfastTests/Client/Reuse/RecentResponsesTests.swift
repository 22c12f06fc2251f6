import Holdfast
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache
@testable import Holdfast

/// The memory of recent responses that are not stored: a value that receives events.
@Suite(.timeLimit(.minutes(20))) struct RecentResponsesTests {
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
            ageMilliseconds: 5,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: CacheOutcome(forward: .uriMiss)
        )
    }

    private let fencingNumber = InvalidationSequence(7)

    /// Keeps a response; `nil` if the memory does not want it.
    private func keep(
        _ response: CacheResponse?,
        for path: String = "/x",
        at now: Timestamp = start,
        within window: Duration = window,
        in recent: inout RecentResponses
    ) {
        guard case .leads(let number) = recent.arrive(identity(path), within: window, at: now, fencingNumber) else {
            Issue.record("'\(path)' was not asked for.")
            return
        }
        recent.finish(number, response.flatMap { RecentResponse($0, at: now) }, fencingNumber)
    }

    private func isServed(
        _ recent: inout RecentResponses,
        _ path: String = "/x",
        at now: Timestamp = start,
        within window: Duration = window,
        _ fencingNumber: InvalidationSequence? = nil
    ) -> Bool {
        if case .reuses = recent.arrive(identity(path), within: window, at: now, fencingNumber ?? self.fencingNumber) {
            return true
        }
        return false
    }

    @Test func servesWithinTheWindowAndNotAfterIt() {
        for (elapsed, isExpected) in [(0, true), (2000, true), (2001, false), (-2000, true), (-2001, false)] {
            var recent = RecentResponses(.init(bytes: 800))
            keep(response(), in: &recent)
            let now = Self.start.adding(milliseconds: Int64(elapsed))
            #expect(isServed(&recent, at: now) == isExpected, "\(elapsed)")
        }
        // A caller may choose a shorter window; a longer one finds the response while it is kept.
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        let later = Self.start.adding(milliseconds: 1500)
        #expect(!isServed(&recent, at: later, within: .seconds(1)))
        #expect(isServed(&recent, at: later, within: .seconds(60)))
    }

    @Test func servedResponseIsMarked() throws {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response("a"), in: &recent)
        let arrival = recent.arrive(
            identity(),
            within: .seconds(2),
            at: Self.start.adding(milliseconds: 1200),
            fencingNumber
        )
        guard case .reuses(let served) = arrival else { throw HoldfastError(code: .noData, message: "") }
        #expect(served.source == .store && served.isStale && served.age == .milliseconds(1205))
        #expect(served.outcome == CacheOutcome(isHit: true, detail: .recent))
        #expect(served.body.whole == ByteBuffer(string: "a"))
    }

    @Test func onlyResponsesThatAreNotStoredAreKept() {
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

    @Test func storedResponseIsAsFreshAsItsFields() throws {
        var fresh = response()
        fresh.outcome.isStored = true
        fresh.head.headerFields[.cacheControl] = "max-age=1, must-revalidate"
        let kept = try #require(RecentResponse(fresh, at: Self.start))
        let stale = [0, 999, 1000, 5000].map { kept.makeResponse(at: Self.start.adding(milliseconds: $0)).isStale }
        #expect(stale == [false, false, true, true])
    }

    @Test func callsJoinAnExchangeUntilItEnds() {
        var recent = RecentResponses(.init(bytes: 800))
        guard case .leads(let first) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            Issue.record("The first call begins.")
            return
        }
        for _ in 0..<30 {
            guard case .joins(first) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
            else {
                Issue.record("The others join.")
                return
            }
        }
        recent.finish(first, nil, fencingNumber)
        // A failure is not kept for later calls.
        guard case .leads(let second) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            Issue.record("The next call begins.")
            return
        }
        #expect(second != first)
    }

    @Test func lastLeavingCallEndsTheExchange() {
        var recent = RecentResponses(.init(bytes: 800))
        guard case .leads(let number) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            return
        }
        _ = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        let isLast = [recent.leave(number), recent.leave(number)]
        #expect(isLast == [false, true])
        // Its late response is not kept, and no call joins it.
        recent.finish(number, RecentResponse(response(), at: Self.start), fencingNumber)
        let isLastAgain = recent.leave(number)
        #expect(recent.count == 0 && !isLastAgain)
        guard case .leads(let next) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            Issue.record("The next call begins.")
            return
        }
        #expect(next != number)
    }

    @Test func invalidationEndsKeptResponsesAndExchanges() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        let later = InvalidationSequence(8)
        #expect(!isServed(&recent, at: Self.start, later) && recent.count == 0)
        // Calls after the invalidation do not join an earlier exchange, and its response is not
        // kept.
        guard case .leads(let old) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, fencingNumber),
            case .leads(let new) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, later)
        else {
            Issue.record("Both begin.")
            return
        }
        recent.finish(new, RecentResponse(response("new"), at: Self.start), later)
        recent.finish(old, RecentResponse(response("old"), at: Self.start), later)
        guard case .reuses(let served) = recent.arrive(identity("/y"), within: Self.window, at: Self.start, later)
        else {
            Issue.record("The newer one answers.")
            return
        }
        #expect(served.body.whole == ByteBuffer(string: "new"))
    }

    @Test func newerResponseEndsKeptResponsesAndExchanges() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), in: &recent)
        keep(response(), for: "/y", in: &recent)
        recent.supersede(identity().request)
        guard case .leads(let slow) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            Issue.record("It is asked for anew.")
            return
        }
        #expect(isServed(&recent, "/y"))
        recent.supersede(identity().request)
        guard case .leads(let next) = recent.arrive(identity(), within: Self.window, at: Self.start, fencingNumber)
        else {
            Issue.record("An exchange that may be older is not joined.")
            return
        }
        recent.finish(slow, RecentResponse(response(), at: Self.start), fencingNumber)
        #expect(recent.count == 1)
        recent.finish(next, RecentResponse(response(), at: Self.start), fencingNumber)
        #expect(isServed(&recent))
    }

    @Test func memoryIsLimitedAndTheOldestResponsesGoFirst() {
        var recent = RecentResponses(.init(bytes: 800, responses: 5))
        keep(response(bytes: 101), for: "/large", in: &recent)
        #expect(recent.count == 0 && recent.bytes == 0)
        for number in 0..<20 { keep(response(bytes: 100), for: "/\(number)", in: &recent) }
        #expect(recent.count == 5 && recent.bytes == 500)
        #expect(!isServed(&recent, "/14") && isServed(&recent, "/15") && isServed(&recent, "/19"))
        var heavy = RecentResponses(.init(bytes: 800))
        for number in 0..<20 { keep(response(bytes: 100), for: "/\(number)", in: &heavy) }
        #expect(heavy.count == 8 && heavy.bytes == 800)
        #expect(!isServed(&heavy, "/11") && isServed(&heavy, "/12"))
    }

    @Test func oldResponsesAreRemoved() {
        var recent = RecentResponses(.init(bytes: 800))
        keep(response(), for: "/long", within: .seconds(10), in: &recent)
        keep(response(), for: "/short", within: .seconds(2), in: &recent)
        #expect(recent.removeOld(at: Self.start) == .milliseconds(2001) && recent.count == 2)
        #expect(recent.removeOld(at: Self.start.adding(milliseconds: 2001)) == .milliseconds(8000))
        #expect(recent.count == 1 && recent.bytes == 1)
        #expect(recent.removeOld(at: Self.start.adding(milliseconds: 10_001)) == nil && recent.count == 0)
    }

    @Test func requestsAreComparedByteByByte() {
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
        // The two texts look equal and differ in their bytes.
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(RequestIdentity(request("/x", [:], composed)) != RequestIdentity(request("/x", [:], decomposed)))
        #expect(RequestIdentity(request("/\(composed)")) != RequestIdentity(request("/\(decomposed)")))
    }

    @Test func onlySafeUnconditionalRequestsAreShared() {
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
