import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache
@testable import HTTPCacheOperations

/// Fetching purged responses again.
@Suite(.timeLimit(.minutes(20))) struct RefreshTests {
    private let registry = RefreshRegistry()

    // MARK: Decisions

    private func target(_ number: Int) throws -> RefreshTarget {
        let key = StoreKey(target: try TargetURI("https://a.example/\(number)"))
        return try #require(RefreshTarget(key: key, repeatedFields: [:]))
    }

    private func run(_ atMost: Int = 10) -> RefreshRun {
        RefreshRun(RefreshReport(sequence: 7, pace: RefreshPace(perSecond: 20, atMost: atMost), client: "uid 1"))
    }

    @Test func readsPagesAndFetchesTheirTargetsInOrder() throws {
        var run = run()
        let targets = try (0..<3).map(target)
        let second = RefreshCursor(part: 0, entry: 9)
        #expect(run.next(.automatic) { _ in false } == .read(RefreshCursor()))
        run.add(RefreshPage(Array(targets[..<2]), skipped: 3, next: second))
        #expect(run.next(.automatic) { _ in false } == .fetch(targets[0]))
        #expect(run.next(.automatic) { _ in false } == .fetch(targets[1]))
        run.ended(.refreshed)
        run.ended(.failed)
        #expect(run.next(.automatic) { _ in false } == .read(second))
        run.add(RefreshPage([targets[2]], next: nil))
        // Its origin is unreachable, so it is left out.
        #expect(run.next(.automatic) { $0 == targets[2] } == .end)
        let report = run.report
        #expect(report.state == .done && report.requested == 2 && report.refreshed == 1 && report.failed == 1)
        #expect(report.skipped == 3 && report.unreachable == 1)
    }

    @Test func sendsNoMoreRequestsThanItMay() throws {
        var run = run(1)
        run.add(RefreshPage(try (0..<3).map(target), next: nil))
        #expect(try run.next(.online) { _ in false } == .fetch(target(0)))
        #expect(run.next(.online) { _ in false } == .end)
        #expect(run.report.state == .limitReached && run.report.requested == 1)
        #expect(run.next(.online) { _ in false } == .end)
    }

    @Test(arguments: OfflineMode.allCases) func modeDecidesWhetherOriginsAreAsked(_ mode: OfflineMode) throws {
        var run = run()
        run.add(RefreshPage([try target(0)], next: nil))
        let asks = mode == .online || mode == .automatic
        #expect(try run.next(mode) { _ in false } == (asks ? .fetch(target(0)) : .end))
        #expect(run.report.state == (asks ? .running : .stoppedByMode))
    }

    @Test func manyFailuresInARowEndIt() throws {
        var run = run(1000)
        run.add(RefreshPage(try (0..<100).map(target), next: nil))
        for _ in 0..<RefreshRun.failureLimit - 1 { run.ended(.failed) }
        run.ended(.refreshed)
        for _ in 0..<RefreshRun.failureLimit - 1 { run.ended(.failed) }
        #expect(try run.next(.automatic) { _ in false } == .fetch(target(0)))
        run.ended(.failed)
        #expect(run.next(.automatic) { _ in false } == .end)
        #expect(run.report.state == .tooManyFailures)
    }

    @Test(arguments: [RefreshRun.Ending.refreshed, .rejected]) func responseEndsTheRow(
        _ ending: RefreshRun.Ending
    ) throws {
        var run = run(1000)
        run.add(RefreshPage(try (0..<100).map(target), next: nil))
        for _ in 0..<RefreshRun.failureLimit - 1 { run.ended(.failed) }
        for _ in 0..<RefreshRun.failureLimit { run.ended(ending) }
        run.ended(.failed)
        #expect(try run.next(.automatic) { _ in false } == .fetch(target(0)))
        #expect(run.report.refreshed == (ending == .refreshed ? RefreshRun.failureLimit : 0))
        #expect(run.report.failed == RefreshRun.failureLimit + (ending == .rejected ? RefreshRun.failureLimit : 0))
    }

    @Test func statusAndStorageDecideTheResult() {
        let expected: [(HTTPResponse.Status, isKept: Bool, RefreshRun.Ending)] = [
            (.ok, true, .refreshed), (.ok, false, .refreshed), (.found, true, .refreshed),
            (.notFound, true, .refreshed), (.gone, true, .refreshed), (.notFound, false, .rejected),
            (.forbidden, false, .rejected), (.tooManyRequests, true, .failed), (.tooManyRequests, false, .failed),
            (.internalServerError, true, .failed), (.serviceUnavailable, false, .failed),
        ]
        for (status, isKept, ending) in expected {
            #expect(RefreshRun.Ending(status, isKept: isKept) == ending, "\(status) \(isKept)")
        }
    }

    @Test func onlyRequestsThatCanBeMadeAgainAreMade() throws {
        let url = try TargetURI("https://a.example/x?q=1")
        let language: HTTPFields = [.acceptLanguage: "de"]
        let made = try #require(RefreshTarget(key: StoreKey(target: url), repeatedFields: language)).request
        #expect(made.method == .get && made.scheme == "https" && made.authority == "a.example" && made.path == "/x?q=1")
        #expect(made.headerFields == language)
        let digest = String(repeating: "0a", count: 32)
        for key in [
            StoreKey(partition: .principal("ada"), target: url), StoreKey(partition: .credentials([1]), target: url),
            StoreKey(method: .post, target: url),
            StoreKey(target: url, content: .init(type: nil, coding: nil, sha256: [UInt8](repeating: 1, count: 32))),
        ] { #expect(RefreshTarget(key: key, repeatedFields: [:]) == nil) }
        for fields: HTTPFields in [[.cookie: "a=b"], [.authorization: "x"], [.userAgent: digest]] {
            #expect(RefreshTarget(key: StoreKey(target: url), repeatedFields: fields) == nil, "\(fields)")
        }
    }

    // MARK: On an engine

    private func report(_ perSecond: Int, atMost: Int = 100) -> RefreshReport {
        RefreshReport(sequence: 7, pace: RefreshPace(perSecond: perSecond, atMost: atMost), client: "uid 1")
    }

    /// Waits until a refresh has ended.
    private func ended() async -> RefreshReport {
        while true {
            if let report = registry.reports.first, report.state != .running { return report }
            await Task.yield()
        }
    }

    @Test func purgedResponsesAreFetchedAgainAtThePace() async throws {
        let fixture = EngineFixture(kind: .shared)
        let urls = (0..<3).map { "https://a.example/\($0)" }
        for url in urls { fixture.transport.script(url, .fresh("old"), .fresh("new")) }
        for url in urls { try await fixture.get(url) }
        let targets = try (0..<3).map(target)
        for url in urls {
            try await fixture.memory.invalidate(
                .target(try TargetURI(url)),
                keepingForOffline: true,
                at: fixture.clock.now()
            )
        }
        try registry.reserve(.automatic)
        registry.begin(report(2), on: fixture.engine) { _ in RefreshPage(targets, next: nil) }
        for number in 1...3 {
            // It sleeps half a second after each request has begun.
            await fixture.sleeper.sleepers(atLeast: 1)
            try await fixture.untilStored("new", urls[number - 1])
            #expect(fixture.transport.requests.count == 3 + number)
            #expect(fixture.sleeper.deadlines.first?.offset == .milliseconds(500 * number))
            fixture.sleeper.advance(by: .milliseconds(500))
        }
        let last = await ended()
        #expect(last.state == .done && last.requested == 3 && last.refreshed == 3 && last.failed == 0)
        for url in urls { #expect(try await fixture.get(url).response.source == .store) }
    }

    @Test func responseThatAClientFetchedMeanwhileIsNotFetchedAgain() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script("https://a.example/0", .fresh("new"))
        try await fixture.get("https://a.example/0")
        let target = try target(0)
        try registry.reserve(.automatic)
        registry.begin(report(2), on: fixture.engine) { _ in RefreshPage([target], next: nil) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        #expect(await ended().refreshed == 1)
        #expect(fixture.transport.requests.count == 1)
    }

    /// Stores the first reply, purges it, and refreshes it with the second reply.
    private func refreshed(
        _ first: ScriptedTransport.Reply,
        _ second: ScriptedTransport.Reply,
        _ fields: HTTPFields = [:],
        clientsUsing scheme: String? = nil
    ) async throws -> (fixture: EngineFixture, report: RefreshReport) {
        let fixture = EngineFixture(kind: .shared)
        fixture.engine.clientsScheme = scheme
        let url = "https://a.example/0"
        fixture.transport.script(url, first, second)
        try await fixture.get(url, fields)
        try await fixture.memory.invalidate(
            .target(try TargetURI(url)),
            keepingForOffline: true,
            at: fixture.clock.now()
        )
        let stored = try #require(fixture.memory.all.first)
        let target = try #require(RefreshTarget(key: stored.key, repeatedFields: stored.head.repeatedFields))
        try registry.reserve(.automatic)
        registry.begin(report(2), on: fixture.engine) { _ in RefreshPage([target], next: nil) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        let last = await ended()
        #expect(last.state == .done && last.requested == 1 && fixture.transport.requests.count == 2)
        return (fixture, last)
    }

    private static let redirects: [HTTPResponse.Status] = [
        .movedPermanently, .found, .temporaryRedirect, .permanentRedirect,
    ]

    private func redirect(_ status: HTTPResponse.Status, _ more: HTTPFields = [:]) -> ScriptedTransport.Reply {
        var fields: HTTPFields = [.cacheControl: "max-age=60", .location: "https://a.example/0"]
        fields.append(contentsOf: more)
        return .status(status, fields: fields)
    }

    /// The origin may redirect only the refresh, for example because it requires https and the
    /// refresh does not state a scheme. Clients would follow the redirect forever.
    @Test(arguments: redirects) func redirectDoesNotReplaceSuccess(_ status: HTTPResponse.Status) async throws {
        for more: HTTPFields in [[:], [.vary: "Accept-Language"]] {
            let (fixture, report) = try await refreshed(.fresh("good"), redirect(status, more))
            #expect(report.failed == 1 && report.refreshed == 0)
            #expect(fixture.memory.all.map(\.head.status) == [.ok])
        }
    }

    @Test func redirectReplacesRedirect() async throws {
        let (fixture, report) = try await refreshed(redirect(.found), redirect(.movedPermanently))
        #expect(report.refreshed == 1 && report.failed == 0)
        #expect(fixture.memory.all.map(\.head.status) == [.movedPermanently])
    }

    /// The client's request began before the refresh, but its response is stored while the refresh
    /// waits for the redirect.
    @Test func redirectDoesNotReplaceSuccessThatWasStoredMeanwhile() async throws {
        let fixture = EngineFixture(kind: .shared)
        let (early, late) = (Gate(), Gate())
        let url = "https://a.example/0"
        fixture.transport.script(url, .fresh("good", beforeHead: early))
        // It has a condition of its own, so the refresh does not share its fetch.
        async let first = fixture.get(url, [.ifNoneMatch: "\"9\""])
        await fixture.transport.waitForRequests(1)
        var moved = redirect(.found)
        moved.beforeHead = late
        fixture.transport.script(url, moved)
        let target = try target(0)
        try registry.reserve(.automatic)
        registry.begin(report(2), on: fixture.engine) { _ in RefreshPage([target], next: nil) }
        await fixture.transport.waitForRequests(2)
        early.open()
        #expect(try await first.text == "good")
        late.open()
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        #expect(await ended().state == .done)
        #expect(try await fixture.storedTexts() == ["good"])
    }

    private func part(_ text: String, _ tag: String) -> ScriptedTransport.Reply {
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag, .contentRange: "bytes 2-4/10"]
        return .status(.partialContent, text, fields: fields)
    }

    /// The representation may be much longer than the part that clients requested.
    @Test(arguments: [false, true]) func storedPartIsRequestedWithItsRange(isChanged: Bool) async throws {
        let unchanged = ScriptedTransport.Reply.status(.notModified, fields: [.eTag: "\"1\""])
        let second = isChanged ? part("new", "\"2\"") : unchanged
        let range: HTTPFields = [.range: "bytes=2-4"]
        let (fixture, report) = try await refreshed(part("old", "\"1\""), second, range)
        #expect(report.refreshed == 1 && report.failed == 0)
        let sent = try #require(fixture.transport.requests.last)
        #expect(sent.headerFields[.range] == "bytes=2-4" && sent.headerFields[.ifNoneMatch] == "\"1\"")
        #expect(fixture.memory.all.map(\.head.status) == [.partialContent])
        let again = try await fixture.get("https://a.example/0", range)
        #expect(again.text == (isChanged ? "new" : "old") && again.response.outcome.isHit)
    }

    @Test func comparisonRequestsTheRangeOfAStoredPart() async throws {
        let fixture = EngineFixture(kind: .shared)
        let url = "https://a.example/0"
        fixture.transport.script(url, part("old", "\"1\""), part("old", "\"1\""))
        try await fixture.get(url, [.range: "bytes=2-4"])
        let comparison = try await fixture.engine.compare(try #require(fixture.memory.all.first))
        #expect(comparison.body.isSame == true)
        #expect(fixture.transport.requests.last?.headerFields[.range] == "bytes=2-4")
    }

    @Test func storedErrorIsRefreshed() async throws {
        let error = ScriptedTransport.Reply.status(.notFound, "none", fields: [.cacheControl: "max-age=60"])
        let stored = try await refreshed(error, error).report
        #expect(stored.refreshed == 1 && stored.failed == 0)
        let notStored = try await refreshed(.fresh("good"), error).report
        #expect(notStored.refreshed == 0 && notStored.failed == 1)
    }

    /// Otherwise, an origin that requires https redirects the request.
    @Test(arguments: ["http", "https", nil] as [String?])
    func requestStatesTheSchemeOfAllClients(_ scheme: String?) async throws {
        let (fixture, report) = try await refreshed(.fresh("old"), .fresh("new"), clientsUsing: scheme)
        #expect(report.refreshed == 1)
        fixture.transport.script("https://a.example/0", .fresh("new"))
        let comparison = try await fixture.engine.compare(try #require(fixture.memory.all.first))
        #expect(comparison.body.isSame == true)
        let requests = fixture.transport.requests
        #expect(requests.count == 3)
        for request in requests.dropFirst() {
            #expect(request.headerFields[.clientScheme] == scheme)
            #expect(request.headerFields[.forwarded] == scheme.map { "proto=\($0)" })
        }
    }

    /// The scheme of the stored response is in the selecting fields.
    @Test func requestKeepsTheSelectingScheme() throws {
        let engine = EngineFixture(kind: .shared).engine
        engine.clientsScheme = "https"
        var head = try target(0).request
        head.headerFields[.clientScheme] = "http"
        #expect(engine.repeating(head).head.headerFields[values: .clientScheme] == ["http"])
    }

    @Test func refreshesTogetherLeavePlacesToClients() async throws {
        let fixture = EngineFixture(kind: .shared) { $0.inFlightLimit = 8 }
        let gate = Gate()
        let count = RefreshRegistry.limit * RefreshRegistry.width
        let targets = try (0..<count).map(target)
        for number in 0..<count {
            fixture.transport.script("https://a.example/\(number)", .fresh("new", beforeHead: gate))
        }
        fixture.transport.script("https://a.example/client", .fresh("to a client"))
        for number in 0..<RefreshRegistry.limit {
            let own = Array(targets[number * RefreshRegistry.width..<(number + 1) * RefreshRegistry.width])
            try registry.reserve(.automatic)
            registry.begin(report(1000), on: fixture.engine) { _ in RefreshPage(own, next: nil) }
        }
        var condition: OriginCondition? { fixture.engine.origins.conditions.first }
        while condition.map({ $0.inFlight + $0.waiting }) != count {
            fixture.sleeper.advance(by: .milliseconds(1))
            await Task.yield()
        }
        // A quarter of the places is left.
        let inFlight = condition?.inFlight
        if inFlight == 6 {
            var request = try fixture.request("https://a.example/client")
            request.client = RequestClient("192.0.2.1")
            let response = try await fixture.engine.respond(to: request)
            #expect(response.head.status == .ok && response.source == .network)
        }
        #expect(inFlight == 6)
        gate.open()
        while registry.reports.contains(where: { $0.state == .running }) {
            fixture.sleeper.advance(by: .milliseconds(1))
            await Task.yield()
        }
        #expect(registry.reports.allSatisfy { $0.refreshed == RefreshRegistry.width })
    }

    @Test func placesAreLimitedAndGivenBack() throws {
        for _ in 0..<RefreshRegistry.limit { try registry.reserve(.automatic) }
        #expect(throws: RefreshRefusal.tooMany(limit: RefreshRegistry.limit)) { try registry.reserve(.automatic) }
        registry.release()
        try registry.reserve(.automatic)
        #expect(throws: RefreshRefusal.mode(.offline)) { try registry.reserve(.offline) }
    }

    @Test func shutdownEndsItAndItSaysHowFarItGot() async throws {
        let fixture = EngineFixture(kind: .shared)
        fixture.transport.script("https://a.example/0", .fresh("new"))
        let targets = try (0..<3).map(target)
        try registry.reserve(.automatic)
        registry.begin(report(1), on: fixture.engine) { _ in RefreshPage(targets, next: nil) }
        await fixture.sleeper.sleepers(atLeast: 1)
        #expect(registry.reports.first?.state == .running)
        await registry.close()
        let last = try #require(registry.reports.first)
        #expect(last.state == .shutDown && last.requested == 1)
        #expect(throws: RefreshRefusal.self) { try registry.reserve(.automatic) }
    }

    @Test func storeThatCannotBeReadEndsIt() async throws {
        let fixture = EngineFixture(kind: .shared)
        try registry.reserve(.automatic)
        registry.begin(report(1), on: fixture.engine) { _ in throw CancellationError() }
        #expect(await ended().state == .storeFailed)
    }
}
