import Foundation
import HoldfastTesting
import Synchronization
import Testing

@testable import Holdfast

/// Callbacks that belong to an object: they do not keep it, and it takes its requests along.
@Suite(.timeLimit(.minutes(20))) struct OwnedCallbackTests {
    enum Form: CaseIterable {
        case callbacks, asyncCallbacks, mainActor, results, onCache, onCacheOnMainActor
    }

    enum Ending: CaseIterable {
        case value, failure, never, underWay, followed
    }

    /// Counts objects.
    private final class Census: Sendable {
        private let counts = Mutex((screens: 0, callbacks: 0, events: 0))
        var all: (screens: Int, callbacks: Int, events: Int) { counts.withLock { $0 } }
        func changeScreens(by step: Int) { counts.withLock { $0.screens += step } }
        func changeCallbacks(by step: Int) { counts.withLock { $0.callbacks += step } }
        func noteEvent() { counts.withLock { $0.events += 1 } }
    }

    /// Lives as long as a callback that captures it.
    private final class Witness: Sendable {
        private let census: Census
        init(_ census: Census) {
            self.census = census
            census.changeCallbacks(by: 1)
        }
        deinit { census.changeCallbacks(by: -1) }
    }

    private final class Screen: Sendable {
        private let subscriptions = SubscriptionBag()
        private let census: Census

        init(_ census: Census) {
            self.census = census
            census.changeScreens(by: 1)
        }
        deinit { census.changeScreens(by: -1) }

        func note(_ witness: Witness) { census.noteEvent() }
        func noteLater(_ witness: Witness) async { census.noteEvent() }
        @MainActor func noteOnMainActor(_ witness: Witness) { census.noteEvent() }

        func open(_ call: Call<String>, _ form: Form) {
            start(call, form, Witness(census)).store(in: subscriptions)
        }

        private func start(_ call: Call<String>, _ form: Form, _ witness: Witness) -> StreamSubscription {
            switch form {
            case .callbacks:
                call.request().subscribe(owner: self) { screen, _ in
                    screen.note(witness)
                } onError: { screen, _ in
                    screen.note(witness)
                }
            case .asyncCallbacks:
                call.request().subscribe(owner: self) { screen, _ in
                    await screen.noteLater(witness)
                } onError: { screen, _ in
                    await screen.noteLater(witness)
                }
            case .mainActor:
                call.request().subscribeOnMainActor(owner: self) { screen, _ in
                    screen.noteOnMainActor(witness)
                } onError: { screen, _ in
                    screen.noteOnMainActor(witness)
                }
            case .results: call.results(owner: self) { screen, _ in screen.note(witness) }
            case .onCache:
                call.onCache(owner: self) { screen, _ in
                    screen.note(witness)
                }.request(owner: self) { screen, _ in
                    screen.note(witness)
                } onError: { screen, _ in
                    screen.note(witness)
                }
            case .onCacheOnMainActor:
                call.onCache(owner: self) { screen, _ in
                    screen.note(witness)
                }.requestOnMainActor(owner: self) { screen, _ in
                    screen.noteOnMainActor(witness)
                } onError: { screen, _ in
                    screen.noteOnMainActor(witness)
                }
            }
        }
    }

    @Test(arguments: Form.allCases, Ending.allCases)
    func closedScreensLeaveNoObject(form: Form, ending: Ending) async throws {
        try await ScriptedClient.run { fixture in
            let (census, paths, gate) = (Census(), 20, Gate())
            for path in 0..<paths {
                let reply: ScriptedTransport.Reply =
                    switch ending {
                    case .value, .followed: .fresh("1")
                    case .failure: .failure(.connect)
                    case .never: .ok("1", beforeHead: Gate())
                    case .underWay: .ok("1", beforeHead: gate)
                    }
                fixture.transport.script("\(ScriptedClient.url)/\(path)", repeating: reply)
            }
            var screens = (0..<1_000).map { _ in Screen(census) }
            for (number, screen) in screens.enumerated() {
                let call = fixture.client.call(fixture.get("/\(number % paths)"))
                screen.open(call.with { $0.followsStore = ending == .followed }, form)
            }
            switch ending {
            case .never, .underWay: await fixture.transport.waitForRequests(paths)
            case .value, .failure, .followed: while census.all.events < 1_000, !Task.isCancelled { await Task.yield() }
            }
            #expect(census.all.screens == 1_000)
            screens = []
            // No callback runs now, so nothing holds a screen for a moment longer.
            if ending == .never { try #require(census.all.screens == 0) }
            gate.open()
            while census.all.screens > 0 || census.all.callbacks > 0, !Task.isCancelled { await Task.yield() }
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    private final class Owner: Sendable {
        let seen = Events()
        func note(_ event: String) { seen.append(event) }
    }

    @Test func callbacksGetTheirOwner() async throws {
        let owner = Owner()
        let failure = HoldfastError(code: .offlineMiss, message: "Nothing is stored.")
        let emissions = [Emission(value: "1"), Emission(value: "2")]
        for stream in [EmissionStream(emissions), EmissionStream([], failure: failure)] {
            await stream.subscribe(owner: owner) { owner, emission in
                owner.note(emission.value)
            } onError: { owner, error in
                owner.note("\(error.code)")
            } onCompleted: { owner in
                owner.note("end")
            }.finished()
        }
        #expect(owner.seen.all == ["1", "2", "end", "offlineMiss"])
    }

    // A subscription that is kept outside of its owner ends at the next event.
    @Test func subscriptionEndsWithoutItsOwner() async throws {
        var owner: Owner? = Owner()
        let seen = try #require(owner).seen
        let (stream, next) = AsyncStream.makeStream(of: String.self)
        let emissions = EmissionStream<String> {
            var iterator = stream.makeAsyncIterator()
            return { await iterator.next(isolation: #isolation).map { Emission(value: $0) } }
        }
        let subscription = emissions.subscribe(owner: try #require(owner)) { owner, emission in
            owner.note(emission.value)
        } onCompleted: { owner in
            owner.note("end")
        }
        next.yield("1")
        while seen.all.isEmpty, !Task.isCancelled { await Task.yield() }
        let isGone = { [weak owner] in owner == nil }
        owner = nil
        while !isGone(), !Task.isCancelled { await Task.yield() }
        // The stream does not end, but the subscription does.
        next.yield("2")
        await subscription.finished()
        #expect(seen.all == ["1"])
    }

    @Test func screenMayHoldTheSubscriptionOfTheStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let owner = Owner()
            await fixture.client.onCache(fixture.get("/x"), owner: owner) { owner, stored in
                owner.note("stored \(stored.value)")
            }.request(owner: owner) { owner, fresh in
                owner.note("fresh \(fresh.value)")
            } onCompleted: { owner in
                owner.note("end")
            }.finished()
            #expect(owner.seen.all == ["stored 1", "fresh 2", "end"])
        }
    }
}
