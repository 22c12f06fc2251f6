import Dispatch
import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Synchronization
import Testing

/// How streams end, and the settings that keep them from using the network.
@Suite(.timeLimit(.minutes(20))) struct StreamEndTests {
    private struct Ruled: Endpoint {
        typealias Response = String
        var mode: OfflineMode
        var baseURL: String { ScriptedClient.url }
        var path: String { "/x" }
        var rule: RuleSettings? {
            var rule = RuleSettings()
            rule.mode = mode
            return rule
        }
    }

    /// An endpoint's mode counts as much as the client's. Mutant: only the client's mode is
    /// checked.
    @Test(arguments: [OfflineMode.offline, .preferStored]) func endpointModeSendsNoRequest(mode: OfflineMode)
        async throws
    {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("stored"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let result = await fixture.client.startWith(Ruled(mode: mode)).collected()
            #expect(result.emissions.map(\.value) == ["stored"] && result.failure == nil)
            #expect(fixture.transport.requests.count == 1)
            let fresh = Events()
            let stored = Events()
            let request = fixture.client.onCache(Ruled(mode: mode)) { stored.append($0.value) }
            for try await emission in request.request() { fresh.append(emission.value) }
            #expect(stored.all == ["stored"] && fresh.all == [])
        }
    }

    /// Mutant: `CallInfo` has the client's mode.
    @Test func pluginSeesThatNothingWillBeSent() async throws {
        let purposes = Kept<CallInfo.Purpose>()
        struct Preparing: PreparingPlugin {
            let purposes: Kept<CallInfo.Purpose>
            func prepare(_ request: inout CacheRequest, for call: CallInfo) { purposes.value = call.purpose }
        }
        try await ScriptedClient.run(.init(plugins: [Preparing(purposes: purposes)])) { fixture in
            fixture.script("/x", .fresh("stored"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            #expect(purposes.value == .network)
            _ = try await fixture.client.fetch(Ruled(mode: .offline))
            #expect(purposes.value == .lookup)
        }
    }

    /// Mutant: `isReusable` does not check invalidations, or clocks.
    @Test func invalidatedValueIsNotReused() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            let call = fixture.client.call(fixture.get("/x")).with { $0.reuseWithin = .seconds(10) }
            let first = await call.request().collected().emissions.map(\.value)
            let again = await call.request().collected().emissions.map(\.value)
            #expect(first == ["1"] && again == ["1"])
            try await fixture.client.store.invalidateAllResponses()
            let afterwards = await call.request().collected().emissions.map(\.value)
            #expect(afterwards == ["1", "2"])
            fixture.clock.advance(by: .seconds(-3600))
            let earlier = await call.request().collected().emissions.map(\.value)
            #expect(earlier == ["2", "3"])
        }
    }

    /// A timeout is a failure of the network. Mutant: `.timeout` is not among these failures.
    @Test func timeoutEndsQuietlyLikeANetworkFailure() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script(
            ScriptedClient.url + "/x",
            .fresh("stored"),
            .ok("late", beforeHead: HoldfastTesting.Gate())
        )
        let endpoint = PathEndpoint(baseURL: ScriptedClient.url, path: "/x")
        _ = try await fixture.client.fetch(endpoint)
        let call = fixture.client.call(endpoint).with {
            $0.timeout = .seconds(5)
            $0.networkFailure = .endingQuietly
        }
        var stream = call.request().makeAsyncIterator()
        let stored = try await stream.next()
        #expect(stored?.value == "stored")
        await fixture.transport.waitForRequests(2)
        await fixture.sleeper.sleepers(atLeast: 2)
        fixture.sleeper.advance(by: .seconds(5))
        let end = try await stream.next()
        #expect(end == nil)
        try await fixture.close()
    }

    /// Mutant: nothing is registered with the subscription.
    @Test func subscriptionEndsItsRequestWhileACallbackRuns() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            let (entered, left) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let subscription = fixture.client.startWith(fixture.feed).subscribe(
                on: .queue(DispatchQueue(label: "callbacks")),
                onNext: { _ in
                    entered.signal()
                    left.wait()
                }
            )
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    entered.wait()
                    continuation.resume()
                }
            }
            while fixture.origin.requestCount < 2, !Task.isCancelled { await Task.yield() }
            subscription.cancel()
            await fixture.origin.waitUntilCancelled()
            left.signal()
            gate.open()
            await subscription.finished()
        }
    }

    /// Mutant: callbacks run with the subscription as the current one.
    @Test func requestOfACallbackIsIndependent() async throws {
        try await ScriptedClient.run { fixture in
            let gate = HoldfastTesting.Gate()
            fixture.script("/x", .fresh("x"), .fresh("x"))
            fixture.script("/y", .fresh("y"), .ok("later", beforeHead: gate))
            _ = try await fixture.client.fetch(fixture.get("/y"))
            let client = fixture.client
            let own = Kept<Task<[String], any Error>>()
            let subscription = client.startWith(fixture.get("/x")).subscribe(onNext: { _ in
                own.value = Task {
                    var values: [String] = []
                    for try await emission in client.startWith(PathEndpoint(baseURL: ScriptedClient.url, path: "/y")) {
                        values.append(emission.value)
                    }
                    return values
                }
            })
            await fixture.transport.waitForRequests(3)
            subscription.cancel()
            gate.open()
            let values = try await own.value?.value
            #expect(values == ["y", "later"])
        }
    }

    /// A failure inside a plugin is not a response to this request. Mutant: the error is named as
    /// one of the response.
    @Test func failureBeforeARequestIsNoBrokenResponse() async throws {
        struct Failing: PreparingPlugin {
            func prepare(_ request: inout CacheRequest, for call: CallInfo) throws {
                throw TransportError(code: .connect, message: "the source of tokens is unreachable")
            }
        }
        try await ScriptedClient.run(.init(plugins: [Failing()])) { fixture in
            let error = await failure { _ = try await fixture.client.fetch(fixture.get("/x")) }
            #expect(
                error?.code == .transportFailed && error?.message.contains("was not sent") == true,
                "\(String(describing: error))"
            )
        }
    }

    /// Mutant: all of a rejected response's content is kept, or none.
    @Test func longErrorContentIsKeptUpToALimit() async throws {
        try await ScriptedClient.run(.init(maximumBodyBytes: 10)) { fixture in
            fixture.script("/x", .status(.badRequest, "a reason that is long"))
            let error = await failure { _ = try await fixture.client.fetch(fixture.get("/x")) }
            let body = error?.body.map { String(decoding: $0, as: UTF8.self) }
            #expect(body == "a reason t")
        }
    }
}
