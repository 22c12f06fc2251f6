import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// Exchanges that an event loop drives by callbacks, and how a task takes over.
@Suite(.timeLimit(.minutes(20))) struct ExchangeAttemptTests {
    @Test func passedResponseReturnsWithItsHead() async throws {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        let direct = try fixture.begin(outcome)
        #expect(direct != nil)
        #expect(outcome.isEmpty)
        fixture.origin.respond(0, "one", [.cacheControl: "no-store"])
        let response = try #require(outcome.response)
        #expect(response.source == .network)
        #expect(response.outcome.forward == .uriMiss)
        #expect(!response.outcome.isStored && response.outcome.notStored == .responseNoStore)
        #expect(response.body.whole == ByteBuffer(string: "one"))
        #expect(fixture.engine.inFlightFetchCount == 0)
        // Its place among the requests under way is free: there is only one.
        #expect(try fixture.begin(Outcomes()) != nil)
    }

    @Test func requestsForAnUnsharedResponseDoNotWaitForEachOther() throws {
        let fixture = AttemptFixture { $0.inFlightLimit = 32 }
        let first = Outcomes()
        _ = try #require(try fixture.begin(first))
        fixture.origin.respond(0, "one", [.cacheControl: "no-store"])
        #expect(first.response != nil)
        let others = (0..<20).map { _ in Outcomes() }
        for outcome in others { #expect(try fixture.begin(outcome) != nil) }
        for number in 1...20 { fixture.origin.respond(number, "\(number)", [.cacheControl: "no-store"]) }
        #expect(others.allSatisfy { $0.response != nil })
        #expect(fixture.engine.inFlightFetchCount == 0)
    }

    /// Mutant: `.store` is treated as a response that passes through.
    @Test func storedResponseIsFinishedByTask() async throws {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        let direct = try #require(try fixture.begin(outcome))
        fixture.origin.respond(0, "one", [.cacheControl: "max-age=60"])
        try #require(outcome.needsTask)
        let response = try await fixture.engine.respond(to: direct)
        #expect(response.outcome.isStored)
        #expect(try await response.text() == "one")
        await fixture.untilIdle()
        let again = try await fixture.engine.respond(to: fixture.request())
        #expect(again.outcome.isHit)
        #expect(fixture.origin.count == 1)
    }

    /// Mutant: a direct failure is not reported to a breaker.
    @Test func failureAndResponseAreDistinguished() async throws {
        let fixture = AttemptFixture { $0.breaker.failureThreshold = 2 }
        for number in 0..<2 {
            let outcome = Outcomes()
            let direct = try #require(try fixture.begin(outcome, path: "/\(number)"))
            fixture.origin.fail(number)
            try #require(outcome.needsTask)
            let error = await #expect(throws: ExchangeError.self) { try await fixture.engine.respond(to: direct) }
            #expect(error?.code == .originUnreachable)
            await fixture.untilIdle()
        }
        // The origin is treated as unreachable, so a direct fetch cannot serve the request now.
        #expect(try fixture.begin(Outcomes(), path: "/2") == nil)
        #expect(fixture.engine.inFlightFetchCount == 0)
        await fixture.engine.shutDown()
    }

    /// Mutant: `abandon` that leaves no in-flight fetch.
    @Test func leavingCallerEndsRequestOnNetwork() async throws {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        let direct = try #require(try fixture.begin(outcome))
        direct.abandon()
        direct.abandon()
        #expect(fixture.origin.isCancelled(0))
        await fixture.untilIdle()
        #expect(outcome.isEmpty)
        #expect(try fixture.begin(Outcomes()) != nil)
    }

    /// The response has arrived, and waits for its turn on the loop.
    @Test(arguments: ["no-store", "max-age=60"]) func callerMayLeaveBeforeResponseIsHandled(control: String)
        async throws
    {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        let turns = Mutex<[@Sendable () -> Void]>([])
        let direct = try #require(
            try fixture.begin(outcome, fixture.request(), inTurn: { turn in turns.withLock { $0.append(turn) } })
        )
        fixture.origin.respond(0, "one", [.cacheControl: control])
        #expect(outcome.isEmpty)
        direct.abandon()
        for turn in turns.withLock({ $0 }) { turn() }
        await fixture.untilIdle()
        #expect(outcome.isEmpty)
        #expect(try fixture.begin(Outcomes(), path: "/other") != nil)
    }

    @Test func joinedCallersGetResponseAfterLeaderLeft() async throws {
        let fixture = AttemptFixture()
        let direct = try #require(try fixture.begin(Outcomes()))
        let request = try fixture.request()
        let follower = Task { [engine = fixture.engine] in try await engine.respond(to: request).text() }
        while fixture.engine.memberCount < 2, !Task.isCancelled { await Task.yield() }
        direct.abandon()
        #expect(!fixture.origin.isCancelled(0))
        fixture.origin.respond(0, "one", [.cacheControl: "max-age=60"])
        let text = try await follower.value
        #expect(text == "one")
    }

    /// Mutant: what passes through is published after its caller has taken it.
    @Test func joinedCallersFetchAgainIfResponsePassesThrough() async throws {
        let fixture = AttemptFixture { $0.inFlightLimit = 2 }
        let outcome = Outcomes()
        _ = try fixture.begin(outcome)
        let request = try fixture.request()
        let follower = Task { [engine = fixture.engine] in try await engine.respond(to: request).text() }
        while fixture.engine.memberCount < 2, !Task.isCancelled { await Task.yield() }
        fixture.origin.respond(0, "one", [.cacheControl: "no-store"])
        #expect(outcome.response?.body.whole == ByteBuffer(string: "one"))
        await fixture.origin.untilCount(2)
        fixture.origin.respond(1, "two", [.cacheControl: "no-store"])
        let text = try await follower.value
        #expect(text == "two")
    }

    /// Mutant: an in-flight fetch keeps the call that has ended, which keeps the fetch.
    @Test(arguments: ["no-store", "max-age=60", nil]) func finishedFetchLeavesNothingBehind(control: String?)
        async throws
    {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        // The closure for interim responses knows the fetch, and the fetch knows the call that it
        // must end.
        var request = try fixture.request()
        request.onInformational = { _ in }
        let direct = try fixture.begin(outcome, request)
        let observed = fixture.origin.observed(0)
        if let control {
            fixture.origin.respond(0, "one", [.cacheControl: control])
            if outcome.needsTask, let direct { _ = try await fixture.engine.respond(to: direct).text() }
        } else {
            direct?.abandon()
        }
        await fixture.untilIdle()
        fixture.origin.forget()
        _ = consume direct
        while !observed.isGone {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test(arguments: ["a HEAD", "If-None-Match", "Range", "only-if-cached"])
    func complexRequestsAreLeftToTasks(what: String) async throws {
        let fixture = AttemptFixture()
        let fields: HTTPFields =
            switch what {
            case "If-None-Match": [.ifNoneMatch: "\"1\""]
            case "Range": [.range: "bytes=0-1"]
            case "only-if-cached": [.cacheControl: "only-if-cached"]
            default: [:]
            }
        #expect(try fixture.begin(Outcomes(), method: what == "a HEAD" ? .head : .get, fields) == nil)
        #expect(fixture.origin.count == 0)
        #expect(fixture.engine.inFlightFetchCount == 0)
        // No place is taken: there is only one.
        #expect(try fixture.begin(Outcomes()) != nil)
    }

    /// Mutants: an in-flight fetch is not looked for; a fetch that has ended since the lookup is
    /// not noticed.
    @Test func fetchUnderWayIsJoinedNotDoubled() async throws {
        let fixture = AttemptFixture { $0.inFlightLimit = 2 }
        let early = fixture.engine.attempt(on: try #require(fixture.engine.prepare(fixture.request())))
        guard case .fetch = early.begin() else { throw UnexpectedStep() }
        let outcome = Outcomes()
        let direct = try #require(try fixture.begin(outcome))
        #expect(try fixture.begin(Outcomes()) == nil)
        fixture.origin.respond(0, "one", [.cacheControl: "max-age=60"])
        try #require(outcome.needsTask)
        _ = try await fixture.engine.respond(to: direct).text()
        await fixture.untilIdle()
        // A caller whose lookup was before the storing looks up again.
        #expect(!early.fetch { _ in })
        let response = try await fixture.engine.respond(to: early)
        #expect(response.outcome.isHit)
        #expect(fixture.origin.count == 1)
    }

    @Test func interimResponsesReachCaller() async throws {
        let fixture = AttemptFixture()
        let heard = Mutex<[Int]>([])
        var request = try fixture.request()
        request.onInformational = { head in heard.withLock { $0.append(head.status.code) } }
        let outcome = Outcomes()
        _ = try fixture.begin(outcome, request)
        fixture.origin.inform(0, 103)
        fixture.origin.respond(0, "one", [.cacheControl: "no-store"])
        #expect(heard.withLock { $0 } == [103])
        #expect(outcome.response != nil)
    }

    /// Mutant: rules do not edit what passes through.
    @Test func rulesApplyToPassingResponse() async throws {
        let rules = TestRules { settings in
            settings.responseFields.removed = [.server]
            settings.hardTimeout = .value(.seconds(7))
        }
        let fixture = AttemptFixture(rules: rules)
        let outcome = Outcomes()
        _ = try fixture.begin(outcome)
        #expect(fixture.origin.headTimeout(0) == .seconds(7))
        fixture.origin.respond(0, "one", [.cacheControl: "no-store", .server: "secret"])
        let response = try #require(outcome.response)
        #expect(response.head.headerFields[.server] == nil)
    }

    /// Mutants: the in-flight fetch of a relayed response is not ended, or its permit not given
    /// back; the origin's failure is forgotten.
    @Test(arguments: [200, 503]) func relayedResponseEndsFetch(status: Int) async throws {
        let fixture = AttemptFixture()
        let outcome = Outcomes()
        _ = try fixture.begin(outcome, fixture.request(), mayRelay: true)
        #expect(fixture.origin.mayBeRelayed(0))
        fixture.origin.relay(0, status: status)
        #expect(outcome.relayed?.status == status)
        #expect(fixture.engine.inFlightFetchCount == 0)
        let key = try #require(fixture.engine.key(for: fixture.request()))
        #expect((fixture.engine.throttle.recent(key, at: fixture.engine.now) != nil) == (status == 503))
        #expect(try fixture.begin(Outcomes()) != nil)
    }

    /// Mutant: joined callers are not released.
    @Test func joinedCallersFetchAgainIfResponseIsRelayed() async throws {
        let fixture = AttemptFixture { $0.inFlightLimit = 2 }
        let direct = try #require(try fixture.begin(Outcomes(), fixture.request(), mayRelay: true))
        let request = try fixture.request()
        let follower = Task { [engine = fixture.engine] in try await engine.respond(to: request).text() }
        while fixture.engine.memberCount < 2, !Task.isCancelled { await Task.yield() }
        // Its caller has left, so no caller gets the response.
        direct.abandon()
        fixture.origin.relay(0, status: 200)
        await fixture.origin.untilCount(2)
        #expect(!fixture.origin.mayBeRelayed(1))
        fixture.origin.respond(1, "two", [.cacheControl: "no-store"])
        let text = try await follower.value
        #expect(text == "two")
    }

    /// A caller that inspects fields, or decides by other fields, gets them.
    ///
    /// Mutant: a job does not learn of relayed responses.
    @Test func onlyUninspectedResponsesAreRelayed() async throws {
        let plain = AttemptFixture()
        _ = try plain.begin(Outcomes(), plain.request())
        #expect(!plain.origin.mayBeRelayed(0))
        let ruled = AttemptFixture(rules: TestRules { $0.responseFields.removed = [.server] })
        _ = try ruled.begin(Outcomes(), ruled.request(), mayRelay: true)
        #expect(!ruled.origin.mayBeRelayed(0))
        let targeted = AttemptFixture(policy: CachePolicy(kind: .shared, targetedFields: ["Surrogate-Control"]))
        _ = try targeted.begin(Outcomes(), targeted.request(), mayRelay: true)
        #expect(!targeted.origin.mayBeRelayed(0))
        var policy = CachePolicy(kind: .shared)
        policy.overriding = IgnoringNoStore()
        let overridden = AttemptFixture(policy: policy)
        _ = try overridden.begin(Outcomes(), overridden.request(), mayRelay: true)
        #expect(!overridden.origin.mayBeRelayed(0))
        let recorded = AttemptFixture(job: JobRun(partition: "one"))
        _ = try recorded.begin(Outcomes(), recorded.request(), mayRelay: true)
        #expect(!recorded.origin.mayBeRelayed(0))
    }

    /// An event loop repeats a hit with conditions without the engine, so a job would not learn of
    /// it.
    ///
    /// Mutant: a job does not learn of repeated hits.
    @Test(arguments: [false, true]) func hitsOfJobsAreNotRepeated(isOfJob: Bool) async throws {
        let fixture = AttemptFixture(job: isOfJob ? JobRun(partition: "one") : nil)
        let outcome = Outcomes()
        let direct = try #require(try fixture.begin(outcome))
        // This store has no content in memory, so HEAD asks.
        fixture.origin.respond(0, "one", [.cacheControl: "max-age=60"])
        try #require(outcome.needsTask)
        _ = try await fixture.engine.respond(to: direct).text()
        await fixture.untilIdle()
        let again = fixture.engine.attempt(on: try #require(fixture.engine.prepare(fixture.request(method: .head))))
        guard case .serve(let hit) = again.begin() else { throw UnexpectedStep() }
        #expect((hit.conditions == nil) == isOfJob)
    }
}

/// An operator's override that ignores `no-store`, without any rules.
private final class IgnoringNoStore: PolicyOverriding {
    var dependsOnContentType: Bool { false }

    func overrides(forContentType contentType: String?) -> PolicyOverrides {
        var overrides = PolicyOverrides()
        overrides.ignoredDirectives = [.noStore]
        return overrides
    }
}

/// A relayed response whose head no test may parse.
private final class UnparsedResponse: RelayedResponse {
    let status: Int
    let content = ByteBuffer(string: "as it came")

    init(status: Int) { self.status = status }

    func parsedHead() -> HTTPResponse { fatalError("The engine parses no relayed head.") }
}

private struct UnexpectedStep: Error {}

/// The results that a fetch passed to its caller.
private final class Outcomes: Sendable {
    private let outcomes = Mutex<[ExchangeAttempt.Outcome]>([])

    func add(_ outcome: ExchangeAttempt.Outcome) { outcomes.withLock { $0.append(outcome) } }

    var isEmpty: Bool { outcomes.withLock(\.isEmpty) }
    /// The response, if it was the only result.
    var response: CacheResponse? {
        outcomes.withLock { if $0.count == 1, case .response(let response) = $0[0] { response } else { nil } }
    }
    var relayed: (any RelayedResponse)? {
        outcomes.withLock { if $0.count == 1, case .relayed(let response) = $0[0] { response } else { nil } }
    }
    /// Whether a task is to continue, and nothing else came.
    var needsTask: Bool {
        outcomes.withLock { if $0.count == 1, case .continueInTask = $0[0] { true } else { false } }
    }
}

/// An engine whose transport is driven by callbacks. It has one place for a request under way
/// unless options set more.
private struct AttemptFixture {
    let origin = CallbackOrigin()
    let engine: CacheEngine

    init(
        policy: CachePolicy = CachePolicy(kind: .shared),
        rules: (any ExchangeRules)? = nil,
        job: JobRun? = nil,
        options change: (inout EngineOptions) -> Void = { _ in }
    ) {
        var options = EngineOptions()
        options.inFlightLimit = 1
        change(&options)
        var parts = CacheEngine.Parts(clock: ManualClock(), sleeper: ManualDurationClock(), jitter: { 1 })
        parts.job = job
        engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: origin,
            policy: policy,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            rules: rules,
            parts: parts,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    func request(
        path: String = "/feed",
        method: HTTPRequest.Method = .get,
        _ fields: HTTPFields = [:]
    ) throws -> CacheRequest {
        CacheRequest(
            head: HTTPRequest(
                method: method,
                scheme: "https",
                authority: "a.example",
                path: path,
                headerFields: fields
            )
        )
    }

    func begin(
        _ outcomes: Outcomes,
        path: String = "/feed",
        method: HTTPRequest.Method = .get,
        _ fields: HTTPFields = [:]
    ) throws -> ExchangeAttempt? {
        try begin(outcomes, request(path: path, method: method, fields))
    }

    func begin(
        _ outcomes: Outcomes,
        _ request: CacheRequest,
        mayRelay: Bool = false,
        inTurn: @escaping ExchangeAttempt.InTurn = { $0() }
    ) throws -> ExchangeAttempt? {
        let attempt = engine.attempt(on: try #require(engine.prepare(request)))
        guard case .fetch = attempt.begin(),
            attempt.fetch(mayRelay: mayRelay, inTurn: inTurn, { outcomes.add($0) })
        else { return nil }
        return attempt
    }

    func untilIdle() async {
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
    }
}

/// An origin that responds when a test tells it to.
private final class CallbackOrigin: Transport {
    private struct State {
        var calls: [Call] = []
        var count = 0
    }
    private let state = Mutex(State())

    final class Call: TransportCall {
        typealias Completion = TransportCallbacks.Completion
        /// Holds the whole request, as a transport may.
        let request: TransportRequest
        private let completion: Mutex<Completion?>
        private let hasEnded = Atomic(false)
        let isCancelled = Atomic(false)

        init(_ request: TransportRequest, _ completion: @escaping Completion) {
            self.request = request
            self.completion = Mutex(completion)
        }

        func end(_ result: Result<CallbackResponse, any Error>) {
            completion.withLock { $0.take() }?(result)
        }

        func cancel() {
            guard completion.withLock({ $0 != nil }) else { return }
            isCancelled.store(true, ordering: .relaxed)
            end(.failure(CancellationError()))
        }
    }

    /// Whether an object is still referenced.
    struct Observed: Sendable {
        private weak let object: Call?
        init(_ object: Call) { self.object = object }
        var isGone: Bool { object == nil }
    }

    var keepsTimeouts: Bool { true }
    var count: Int { state.withLock { $0.count } }

    var callbacks: TransportCallbacks? { TransportCallbacks { self.begin($0, $1) } }

    private func begin(
        _ request: TransportRequest,
        _ completion: @escaping TransportCallbacks.Completion
    ) -> (any TransportCall)? {
        let call = Call(request, completion)
        state.withLock { state in
            state.calls.append(call)
            state.count += 1
        }
        return call
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await withCheckedThrowingContinuation { continuation in
            _ = begin(request) { result in
                continuation.resume(
                    with: result.map { reply in
                        guard case .response(let response) = reply else { fatalError("It may not be relayed.") }
                        return response
                    }
                )
            }
        }
    }

    private func call(_ number: Int) -> Call { state.withLock { $0.calls[number] } }

    func respond(_ number: Int, _ text: String, _ fields: HTTPFields) {
        let body = ByteBuffer(string: text)
        var head = HTTPResponse(status: .ok, headerFields: fields)
        head.headerFields[.contentLength] = String(body.readableBytes)
        call(number).end(.success(.response(TransportResponse(head: head, body: BodyStream(body)))))
    }

    func relay(_ number: Int, status: Int) {
        let response = UnparsedResponse(status: status)
        call(number).end(.success(.relayed(response)))
    }

    func mayBeRelayed(_ number: Int) -> Bool { call(number).request.mayBeRelayed }

    func fail(_ number: Int) {
        call(number).end(.failure(TransportError(code: .timeout, message: "The origin is silent.")))
    }

    func inform(_ number: Int, _ status: Int) {
        call(number).request.onInformational?(HTTPResponse(status: .init(code: status)))
    }

    func isCancelled(_ number: Int) -> Bool { call(number).isCancelled.load(ordering: .relaxed) }
    func headTimeout(_ number: Int) -> Duration? { call(number).request.headTimeout }
    func observed(_ number: Int) -> Observed { Observed(call(number)) }
    func forget() { state.withLock { $0.calls = [] } }

    func untilCount(_ count: Int) async {
        while self.count < count, !Task.isCancelled { await Task.yield() }
    }
}

extension CacheResponse {
    fileprivate func text() async throws -> String { String(buffer: try await body.collect(upTo: 1 << 20)) }
}
