import Foundation
import HoldfastTesting
import Testing

@testable import Holdfast

/// Keeping subscriptions, and callbacks that suspend.
@Suite(.timeLimit(.minutes(20))) struct SubscriptionBagTests {
    @Test func bagKeepsSubscriptionsAlive() async throws {
        try await ScriptedClient.run { fixture in
            let (events, bag) = (Events(), SubscriptionBag())
            fixture.script("/x", .fresh("1"))
            fixture.client.startWith(fixture.get("/x")).subscribe(
                onNext: { events.append($0.value) },
                onCompleted: { events.append("end") }
            ).store(in: bag)
            while events.all.last != "end", !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["1", "end"])
        }
    }

    @Test(arguments: [true, false]) func endOfTheBagCancelsAll(explicitly: Bool) async throws {
        try await ScriptedClient.run { fixture in
            var bag: SubscriptionBag? = SubscriptionBag()
            for number in 0..<30 {
                fixture.script("/\(number)", .ok("never", beforeHead: Gate()))
                if let bag {
                    fixture.client.startWith(fixture.get("/\(number)")).subscribe { _ in
                        Issue.record("A cancelled subscription called back.")
                    }.store(in: bag)
                }
            }
            await fixture.transport.waitForRequests(30)
            if explicitly { bag?.cancelAll() }
            bag = nil
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func endedSubscriptionsAreReleased() async throws {
        let bag = SubscriptionBag()
        for _ in 0..<1_000 {
            let subscription = EmissionStream([Emission(value: 1)]).subscribe { _ in }
            await subscription.finished()
            subscription.store(in: bag)
        }
        #expect(bag.count < 40)
    }

    private actor Screen {
        var shown: [String] = []
        func show(_ text: String) async {
            // If the order were lost, it would be lost here.
            for _ in 0..<100 { await Task.yield() }
            shown.append(text)
        }
    }

    @Test func callbacksMayAwaitAnActorAndKeepTheirOrder() async throws {
        try await ScriptedClient.run { fixture in
            let screen = Screen()
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let subscription = fixture.client.startWith(fixture.get("/x")).subscribe(
                onNext: { await screen.show($0.value) },
                onError: { await screen.show("\($0.code)") },
                onCompleted: { await screen.show("end") }
            )
            await subscription.finished()
            #expect(await screen.shown == ["1", "2", "end"])
            fixture.script("/x", .failure(.connect))
            let failing = fixture.client.startWith(fixture.get("/x")).subscribe(
                onNext: { await screen.show($0.value) },
                onError: { await screen.show("\($0.code)") }
            )
            await failing.finished()
            #expect(await screen.shown == ["1", "2", "end", "2", "originUnreachable"])
        }
    }

    /// Without the executor's parameter, callbacks that do not suspend stay synchronous.
    @Test func synchronousCallbacksMayNameAnExecutor() async throws {
        let events = Events()
        let queue = DispatchQueue(label: "callbacks")
        let stream = EmissionStream([Emission(value: "1"), Emission(value: "2")])
        await stream.subscribe(on: .queue(queue), onNext: { events.append($0.value) }).finished()
        await stream.subscribe { events.append($0.value) }.finished()
        #expect(events.all == ["1", "2", "1", "2"])
    }

    @Test func noCallbackBeginsAfterCancelling() async throws {
        let (gate, events) = (Gate(), Events())
        let stream = EmissionStream([Emission(value: "1"), Emission(value: "2")])
        let subscription = stream.subscribe(
            onNext: { emission in
                events.append(emission.value)
                try? await gate.wait()
            },
            onCompleted: { events.append("end") }
        )
        while events.all.isEmpty, !Task.isCancelled { await Task.yield() }
        subscription.cancel()
        gate.open()
        await subscription.finished()
        #expect(events.all == ["1"])
    }
}
