import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Testing

@testable import HTTPCache

/// The flow of one exchange, walked step by step without an engine, a store, a socket or a clock.
struct ExchangeFlowTests {
    private static let now = Timestamp(seconds: 1_000)
    private static let start = LookupStart(endedFetches: 7, fencingNumber: InvalidationSequence(3))

    /// Why a walk left its path.
    private struct UnexpectedAction: Error {}

    // MARK: Lookup

    @Test func freshResponseIsServed() throws {
        var flow = try flow()
        let serve = try serve(flow.lookUp([try stored(age: 10)]))
        #expect(serve.outcome.isHit && serve.outcome.timeToLive == 50)
        #expect(flow.plan == nil)
    }

    @Test func missIsFetchedUnderTheFenceOfItsLookup() throws {
        var flow = try flow()
        try ask(flow.lookUp([]))
        #expect(flow.plan?.known.fencingNumber == InvalidationSequence(3))
        #expect(
            flow.plan?.fetch.reason == .uriMiss && flow.plan?.known.success == nil && flow.plan?.known.isWhole == true
        )
        #expect(flow.seenFetches == 7 && flow.prepared.request.isCollapsible)
    }

    @Test func staleResponseIsValidated() throws {
        var flow = try flow()
        let stale = try stored(age: 100)
        try ask(flow.lookUp([stale]))
        #expect(flow.plan?.fetch.validating?.id == stale.id && flow.plan?.known.success?.id == stale.id)
    }

    @Test func partialLookupIsRemembered() throws {
        var flow = try flow()
        try ask(flow.lookUp([], isWhole: false))
        #expect(flow.plan?.known.isWhole == false)
    }

    /// Mutant: `bodyGone` that considers the gone response again.
    @Test func responseWithoutBodyIsPassedOver() throws {
        var flow = try flow()
        let gone = try stored(id: 1, age: 10)
        let other = try stored(id: 2, age: 20, fields: [.cacheControl: "max-age=60", .vary: "Accept"])
        let first = try serve(flow.lookUp([gone, other])).stored.id
        try lookAgain(flow.bodyGone())
        #expect(try serve(flow.lookUp([gone, other])).stored.id == 3 - first)
        try lookAgain(flow.bodyGone())
        try ask(flow.lookUp([gone, other]))
        // Both were stored when the origin was asked, so an error must not replace them.
        #expect(flow.plan?.known.variants.count == 2)
    }

    /// A renewal replaced the response between lookup and opening.
    @Test func replacementIsServedIfTheBodyIsGone() throws {
        var flow = try flow(mode: .offline)
        #expect(try serve(flow.lookUp([try stored(id: 1, age: 100)])).stored.id == 1)
        try lookAgain(flow.bodyGone())
        #expect(try serve(flow.lookUp([try stored(id: 2, age: 0)])).stored.id == 2)
    }

    /// Responses that are replaced again and again keep no caller looking.
    @Test func fourthLookupIsTheLastForGoneBodies() throws {
        var flow = try flow()
        for number in 1...4 {
            let found = [try stored(id: Int64(number), age: 10), try stored(id: 10, age: 20)]
            _ = try serve(flow.lookUp(found))
            if number < 4 { try lookAgain(flow.bodyGone()) }
        }
        #expect(try serve(flow.bodyGone()).stored.id == 10)
        try ask(flow.bodyGone())
    }

    @Test(arguments: [CacheRequest.Preference.storedOnly, .standard]) func missWithoutOriginIsRefused(
        preference: CacheRequest.Preference
    ) throws {
        var flow = try flow(mode: preference == .standard ? .offline : .automatic) { $0.preference = preference }
        guard case .refuse(let refusal) = flow.lookUp([]) else { throw UnexpectedAction() }
        #expect(refusal.code == .offlineMiss && refusal.status == 504)
    }

    @Test func requestThatIgnoresStoredResponsesAsksTheOrigin() throws {
        var flow = try flow { $0.ignoresStored = true }
        try ask(flow.lookUp([try stored(age: 1)]))
        #expect(flow.plan?.fetch.validating == nil && !flow.prepared.request.isCollapsible)
        // It is no answer, but still a success that an error must not replace.
        #expect(flow.plan?.known.variants.count == 1)
    }

    /// Mutant: `advance` is not called, so that the second lookup's response is from the future.
    @Test func laterLookupsAreJudgedAtTheirTime() throws {
        var flow = try flow()
        try ask(flow.lookUp([]))
        guard case .admit = flow.considered(recent: nil, verdict: .reachable),
            case .lookUp = flow.admitted(.lookAgain)
        else { throw UnexpectedAction() }
        // Further ahead than a clock's tolerance, as seen from the exchange's beginning.
        let came = try stored(age: -7)
        let action = flow.lookupFinished([came], isWhole: true, since: Self.start) { Self.now.adding(.seconds(8)) }
        #expect(try serve(action).outcome.timeToLive == 60)
    }

    /// Mutant: no limit of lookups, so that a busy key keeps its callers looking.
    @Test func fourthLookupWaitsForNoOtherFetch() throws {
        var flow = try flow()
        for number in 1...4 {
            try ask(flow.lookUp([]))
            #expect((flow.seenFetches == nil) == (number == 4))
            _ = flow.considered(recent: nil, verdict: .reachable)
            if number < 4 { _ = flow.admitted(.lookAgain) }
        }
    }

    // MARK: Renewal

    @Test func servedResponseIsRenewedOnlyIfTheOriginIsWell() throws {
        var flow = try flow()
        let revalidated = try stored(age: 70, fields: [.cacheControl: "max-age=60, stale-while-revalidate=60"])
        let serve = try serve(flow.lookUp([revalidated]))
        #expect(serve.isToBeRefreshed)
        let renewal = try #require(flow.renewal(of: serve, recent: nil, isOriginUnreachable: false))
        #expect(renewal.plan.fetch.validating?.id == revalidated.id)
        #expect(renewal.plan.known.fencingNumber == InvalidationSequence(3))
        #expect(flow.renewal(of: serve, recent: .unreachable, isOriginUnreachable: false) == nil)
        #expect(flow.renewal(of: serve, recent: nil, isOriginUnreachable: true) == nil)
    }

    // MARK: The origin's health

    @Test func missIsRefusedWhileTheBreakerIsOpen() throws {
        var flow = try flow()
        try ask(flow.lookUp([]))
        guard case .refuse(let refusal) = flow.considered(recent: nil, verdict: .unreachable) else {
            throw UnexpectedAction()
        }
        #expect(refusal.code == .originUnreachable && refusal.status == 504)
        // The breaker may let it through as a trial all the same.
        guard case .lead = flow.admitted(.lead(inFlight())) else { throw UnexpectedAction() }
    }

    @Test func failingTargetIsNamedAsSuch() throws {
        var flow = try flow()
        try ask(flow.lookUp([]))
        guard case .refuse(let refusal) = flow.considered(recent: nil, verdict: .failing) else {
            throw UnexpectedAction()
        }
        #expect(refusal.message.contains("failed repeatedly"))
    }

    @Test func staleResponseIsServedWhileTheBreakerIsOpen() throws {
        var flow = try flow()
        try ask(flow.lookUp([try stored(age: 100)]))
        guard case .serve(let serve) = flow.considered(recent: nil, verdict: .unreachable) else {
            throw UnexpectedAction()
        }
        #expect(serve.outcome.detail == .unreachable)
        // Its body is gone: the origin is asked all the same.
        guard case .lead = flow.admitted(.lead(inFlight())) else { throw UnexpectedAction() }
    }

    @Test func probeIsSentWhateverTheBreakerSays() throws {
        var flow = try flow { $0.isProbe = true }
        try ask(flow.lookUp([]))
        guard case .admit = flow.considered(recent: .unreachable, verdict: .unreachable) else {
            throw UnexpectedAction()
        }
    }

    @Test func closedCacheRefuses() throws {
        var flow = try flow()
        try ask(flow.lookUp([]))
        _ = flow.considered(recent: nil, verdict: .reachable)
        guard case .refuse(let refusal) = flow.admitted(.closed) else { throw UnexpectedAction() }
        #expect(refusal.code == .shutDown)
    }

    // MARK: The fetch

    @Test(arguments: [false, true]) func sharedResponseIsDelivered(isCollapsed: Bool) throws {
        var flow = try waiting([], isCollapsed: isCollapsed)
        let response = try delivered(flow.received(shared(at: Self.now)))
        #expect(response.outcome.isCollapsed == isCollapsed && response.outcome.isStored == !isCollapsed)
        #expect(response.source == .network)
        // Another caller's response comes with its age, as from store.
        #expect((response.head.headerFields[.age] != nil) == isCollapsed)
    }

    /// Mutant: the variant of a collapsed response is not compared.
    @Test func anotherVariantIsFetchedAlone() throws {
        var flow = try waiting([], isCollapsed: true)
        let other: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        try fetchAlone(
            flow.received(shared(at: Self.now, fields: other, selecting: [.acceptLanguage: "fr"]))
        )
        #expect(!flow.isCollapsed)
        // The leader of that fetch gets whatever comes.
        _ = try delivered(flow.received(shared(at: Self.now, fields: other, selecting: [.acceptLanguage: "fr"])))
    }

    @Test func passedResponseIsForItsCaller() throws {
        var flow = try waiting([])
        let response = try delivered(flow.received(exclusive(200)))
        #expect(response.outcome.notStored == .responseNoStore && !response.outcome.isStored)
    }

    @Test func callerWhoseResponseIsForAnotherAsksAlone() throws {
        var flow = try waiting([], isCollapsed: true)
        try fetchAlone(flow.received(.released(.ok)))
        _ = try delivered(flow.received(exclusive(200)))
    }

    @Test func validatedResponseIsServed() throws {
        let stale = try stored(age: 100)
        var flow = try waiting([stale])
        guard case .serveValidated(let serve) = flow.received(.validated(stale)) else { throw UnexpectedAction() }
        #expect(serve.outcome.forward == .stale && serve.outcome.forwardStatus == 304)
        // Its body is gone: the whole is fetched.
        flow.validatedGone()
        #expect(flow.plan?.fetch.validating == nil)
        _ = try delivered(flow.received(shared(at: Self.now)))
    }

    @Test func cancelledFetchOfAnotherIsNoEndForItsFollower() throws {
        var follower = try waiting([], isCollapsed: true)
        try fetchAlone(follower.failed(CancellationError()))
        var leader = try waiting([])
        guard case .refuse(let error) = leader.failed(CancellationError()) else { throw UnexpectedAction() }
        #expect((error as? ExchangeError)?.code == .shutDown)
    }

    // MARK: Serving stale

    /// The reasons for which a stored response is served in place of the origin's.
    enum Trouble: CaseIterable {
        case slow, status, statusForOthers, looksWrong, unreachable, noPlace, noConnection
    }

    private func met(_ trouble: Trouble, _ flow: inout ExchangeFlow, _ stored: StoredResponse) throws
        -> ExchangeFlow.FetchAction
    {
        switch trouble {
        case .slow:
            #expect(flow.waitLimit == .seconds(1))
            return flow.waitedTooLong()
        case .status: return flow.received(exclusive(503))
        case .statusForOthers: return flow.received(.released(.serviceUnavailable))
        case .looksWrong: return flow.received(.refused(stored))
        case .unreachable: return flow.failed(TransportError(code: .connect, message: "unreachable"))
        case .noPlace: return flow.failed(ExchangeError.overloaded(flow.prepared.request, .full, EngineOptions()))
        case .noConnection: return flow.failed(TransportError(code: .overloaded, message: "no connection"))
        }
    }

    @Test(arguments: Trouble.allCases) func storedResponseStandsIn(trouble: Trouble) throws {
        let stale = try stored(age: 100, fields: Self.lenient)
        var flow = try waiting([stale])
        guard case .standIn(let serve) = try met(trouble, &flow, stale) else { throw UnexpectedAction() }
        let details: [Trouble: CacheOutcome.Detail] = [
            .slow: .slow, .status: .staleIfError, .statusForOthers: .staleIfError, .looksWrong: .guarded,
            .unreachable: .unreachable, .noPlace: .overloaded, .noConnection: .overloaded,
        ]
        #expect(serve.stored.id == stale.id && serve.outcome.detail == details[trouble])
    }

    /// Mutant: `standInGone` that chooses among the first lookup's responses.
    @Test(arguments: Trouble.allCases) func replacementStandsInIfTheBodyIsGone(trouble: Trouble) throws {
        let stale = try stored(age: 100, fields: Self.lenient)
        var flow = try waiting([stale])
        guard case .standIn = try met(trouble, &flow, stale) else { throw UnexpectedAction() }
        let newer = try stored(id: 2, age: 90, fields: Self.lenient)
        guard case .standIn(let serve) = flow.standInGone([newer], at: Self.now) else { throw UnexpectedAction() }
        #expect(serve.stored.id == 2)
        try expectEnd(of: trouble, flow.standInGone([newer], at: Self.now), flow)
    }

    @Test(arguments: Trouble.allCases) func nothingStandsInIfTheStoreIsEmpty(trouble: Trouble) throws {
        let stale = try stored(age: 100, fields: Self.lenient)
        var flow = try waiting([stale])
        guard case .standIn = try met(trouble, &flow, stale) else { throw UnexpectedAction() }
        try expectEnd(of: trouble, flow.standInGone([], at: Self.now), flow)
    }

    /// The end if no stale response may be served: the origin's own response if there is one for
    /// this caller, else another fetch, and an error if the origin is unreachable.
    private func expectEnd(of trouble: Trouble, _ action: ExchangeFlow.FetchAction, _ flow: ExchangeFlow) throws {
        switch (trouble, action) {
        case (.status, .deliver(let response)):
            #expect(response.head.status == .serviceUnavailable)
        case (.slow, .fetchAlone):
            #expect(flow.plan?.fetch.validating == nil)
        case (.statusForOthers, .fetchAlone):
            #expect(flow.plan?.fetch.validating != nil)
        case (.looksWrong, .fetchAlone):
            #expect(flow.plan?.fetch.validating == nil && flow.plan?.fetch.mayStandIn == false)
        case (.unreachable, .refuse(let error)):
            #expect((error as? ExchangeError)?.code == .originUnreachable)
        case (.noPlace, .refuse(let error)), (.noConnection, .refuse(let error)):
            let error = error as? ExchangeError
            #expect(error?.code == .overloaded && error?.status == 503)
        default: throw UnexpectedAction()
        }
    }

    @Test func errorWithoutStoredResponseIsDelivered() throws {
        var flow = try waiting([])
        #expect(try delivered(flow.received(exclusive(503))).head.status == .serviceUnavailable)
    }

    @Test func callerWaitsAsLongAsNothingCanStandIn() throws {
        #expect(try waiting([]).waitLimit == nil)
        let strict = try stored(age: 100, fields: [.cacheControl: "max-age=60, must-revalidate"])
        #expect(try waiting([strict]).waitLimit == nil)
    }

    // MARK: Steps

    private static let lenient: HTTPFields = [.cacheControl: "max-age=60, stale-if-error=600"]

    private func inFlight() -> InFlightFetch { InFlightFetch(fencingNumber: InvalidationSequence(3)) }

    private func flow(
        mode: OfflineMode = .automatic,
        _ change: (inout CacheRequest) -> Void = { _ in }
    ) throws -> ExchangeFlow {
        var request = CacheRequest(
            head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/feed")
        )
        change(&request)
        let snapshot = PreparedRequest.Snapshot(
            policy: CachePolicy(kind: .shared),
            partitions: CredentialPartition(secret: [UInt8](repeating: 7, count: 32)),
            modes: EngineModes(mode: mode),
            staleness: .none,
            settingsVersion: 0
        )
        var options = EngineOptions()
        options.softTimeout = .seconds(1)
        let prepared = try #require(PreparedRequest(request, rules: nil, snapshot))
        return ExchangeFlow(prepared, options: options, now: Self.now)
    }

    /// A flow that waits for a fetch.
    private func waiting(_ found: [StoredResponse], isCollapsed: Bool = false) throws -> ExchangeFlow {
        var flow = try flow()
        try ask(flow.lookUp(found))
        guard case .admit = flow.considered(recent: nil, verdict: .reachable) else { throw UnexpectedAction() }
        _ = flow.admitted(isCollapsed ? .joined(inFlight()) : .lead(inFlight()))
        #expect(flow.isCollapsed == isCollapsed)
        return flow
    }

    private func stored(
        id: StoredResponse.ID = 1,
        age: Int64,
        fields: HTTPFields = [.cacheControl: "max-age=60"]
    ) throws -> StoredResponse {
        var fields = fields
        fields[.eTag] = "\"\(id)\""
        let time = Self.now.adding(.seconds(-age))
        return StoredResponse(
            id: id,
            key: StoreKey(target: try TargetURI("https://a.example/feed")),
            head: StoredResponseHead(status: .ok, fields: fields, requestTime: time, responseTime: time),
            bodyID: id,
            bodyLength: 0,
            storedAt: time
        )
    }

    private func shared(
        at time: Timestamp,
        fields: HTTPFields = [.cacheControl: "max-age=60"],
        selecting: HTTPFields = [:]
    ) throws -> InFlightFetch.Delivery {
        let head = StoredResponseHead(
            selectingFields: selecting,
            status: .ok,
            fields: fields,
            requestTime: time,
            responseTime: time
        )
        let body = InFlightBody(length: nil, writer: nil, unread: UnreadLimit(length: nil, isBackground: true)) {}
        let reader = try #require(body.makeReader())
        return .shared(head, HTTPResponse(status: .ok, headerFields: fields), reader, notStored: nil)
    }

    private func exclusive(_ status: Int) -> InFlightFetch.Delivery {
        let head = HTTPResponse(status: .init(code: status), headerFields: [.cacheControl: "no-store"])
        return .exclusive(
            TransportResponse(head: head, body: .empty),
            responseTime: Self.now,
            notStored: .responseNoStore
        )
    }

    private func ask(_ action: ExchangeFlow.LookupAction) throws {
        guard case .ask = action else { throw UnexpectedAction() }
    }

    private func lookAgain(_ action: ExchangeFlow.LookupAction) throws {
        guard case .lookUp = action else { throw UnexpectedAction() }
    }

    private func serve(_ action: ExchangeFlow.LookupAction) throws -> ExchangeFlow.Serve {
        guard case .serve(let serve) = action else { throw UnexpectedAction() }
        return serve
    }

    private func delivered(_ action: ExchangeFlow.FetchAction) throws -> CacheResponse {
        guard case .deliver(let response) = action else { throw UnexpectedAction() }
        return response
    }

    private func fetchAlone(_ action: ExchangeFlow.FetchAction) throws {
        guard case .fetchAlone = action else { throw UnexpectedAction() }
    }
}

extension ExchangeFlow {
    fileprivate mutating func lookUp(_ found: [StoredResponse], isWhole: Bool = true) -> LookupAction {
        let now = now
        return lookupFinished(
            found,
            isWhole: isWhole,
            since: LookupStart(endedFetches: 7, fencingNumber: InvalidationSequence(3))
        ) { now }
    }
}
