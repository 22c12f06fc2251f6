import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct StartWithTests {
    @Test func emitsTheStoredThenTheNetworkValue() async throws {
        try await ClientFixture.run { fixture in
            let first = await fixture.client.startWith(fixture.feed).collected()
            #expect(first.emissions.map(\.source) == [.network] && first.failure == nil)
            fixture.clock.advance(by: .seconds(30))
            let second = await fixture.client.startWith(fixture.feed).collected()
            #expect(second.emissions.map(\.source) == [.store, .network])
            #expect(second.emissions.map(\.isUnchanged) == [false, true])
            #expect(second.emissions.first?.age == .seconds(30) && second.emissions.first?.isStale == false)
            #expect(second.emissions.first?.value == first.emissions.first?.value)
            // The network returned a 304: the value was validated, not fetched.
            #expect(second.emissions.last?.outcome.forwardStatus == 304)
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func expiredStoredValueIsEmittedAsStale() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            fixture.clock.advance(by: .seconds(3600))
            let emissions = await fixture.client.startWith(fixture.feed).collected().emissions
            #expect(emissions.map(\.isStale) == [true, false])
            #expect(emissions.first?.age == .seconds(3600))
        }
    }

    @Test func changedResponseIsNotMarkedUnchanged() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            _ = try await fixture.client.fetch(
                PathEndpoint(baseURL: fixture.origin.baseURL, path: "/moments/harbour-25/likes", method: .post),
                .networkOnly
            )
            let emissions = await fixture.client.startWith(fixture.feed).collected().emissions
            #expect(emissions.map(\.isUnchanged) == [false, false])
            #expect(emissions.first?.value != emissions.last?.value)
        }
    }

    @Test func equalBytesWithoutAValidatorAreUnchanged() async throws {
        try await ClientFixture.run { fixture in
            for _ in 0..<2 { fixture.origin.force(.respond(fields: [("Cache-Control", "max-age=9")], body: "same")) }
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let emissions = await fixture.client.startWith(fixture.get("/x")).collected().emissions
            #expect(emissions.map(\.isUnchanged) == [false, true] && emissions.last?.outcome.forwardStatus == nil)
        }
    }

    @Test func failureAfterTheStoredValueThrows() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            await fixture.origin.stop()
            let thrown = await fixture.client.startWith(fixture.feed).collected()
            #expect(thrown.emissions.map(\.source) == [.store] && thrown.failure == .originUnreachable)
            let quiet = await fixture.client.startWith(fixture.feed, ifNetworkFails: .endingQuietly).collected()
            #expect(quiet.emissions.map(\.source) == [.store] && quiet.failure == nil)
        }
    }

    @Test func failureWithoutAStoredValueAlwaysThrows() async throws {
        try await ClientFixture.run { fixture in
            await fixture.origin.stop()
            let result = await fixture.client.startWith(fixture.feed, ifNetworkFails: .endingQuietly).collected()
            #expect(result.emissions.isEmpty && result.failure == .originUnreachable)
        }
    }

    @Test(arguments: [OfflineMode.offline, .preferStored])
    func offlineModeEndsAfterTheStoredValue(mode: OfflineMode) async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let connections = fixture.origin.acceptedConnections
            fixture.client.mode = mode
            let result = await fixture.client.startWith(fixture.feed).collected()
            #expect(result.emissions.map(\.source) == [.store] && result.failure == nil)
            #expect(fixture.origin.requestCount == 1 && fixture.origin.acceptedConnections == connections)
        }
    }

    @Test func offlineMissIsAnErrorAndOpensNoSocket() async throws {
        try await ClientFixture.run(.init(mode: .offline)) { fixture in
            let result = await fixture.client.startWith(fixture.feed).collected()
            #expect(result.emissions.isEmpty && result.failure == .offlineMiss)
            #expect(fixture.origin.acceptedConnections == 0)
        }
    }

    @Test func nothingHappensBeforeIteration() async throws {
        try await ClientFixture.run { fixture in
            let stream = fixture.client.startWith(fixture.feed)
            for _ in 0..<100 { await Task.yield() }
            #expect(fixture.origin.requestCount == 0)
            _ = await stream.collected()
            _ = await stream.collected()
            #expect(fixture.origin.requestCount == 2)
        }
    }

    @Test func leavingTheLoopCancelsTheRequest() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            for try await emission in fixture.client.startWith(fixture.feed) {
                #expect(emission.source == .store)
                while fixture.origin.requestCount < 2, !Task.isCancelled { await Task.yield() }
                break
            }
            await fixture.origin.waitUntilCancelled()
            gate.open()
        }
    }

    @Test func storedValueOfAnotherShapeIsAMissAndItsBytesStay() async throws {
        try await ClientFixture.run { fixture in
            struct Other: Decodable, Sendable { var somethingElse: Int }
            _ = try await fixture.client.fetch(fixture.feed)
            let result = await fixture.client.startWith(fixture.feed, as: Other.self).collected()
            #expect(result.emissions.isEmpty && result.failure == .decodingFailed)
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(fixture.feed).value.userDetails.id == "harbour")
        }
    }

    @Test func directiveAgainstStaleUseHoldsTheStaleValueBack() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.get("/must-revalidate"))
            fixture.clock.advance(by: .seconds(1_000_000))
            let emissions = await fixture.client.startWith(fixture.get("/must-revalidate")).collected().emissions
            #expect(emissions.map(\.source) == [.network])
        }
    }

    @Test func callbacksRunInOrderAndEndOnce() async throws {
        try await ClientFixture.run { fixture in
            _ = try await fixture.client.fetch(fixture.feed)
            let queue = DispatchQueue(label: "callbacks")
            let events = Events()
            let subscription = fixture.client.startWith(fixture.feed).subscribe(
                on: .queue(queue),
                onNext: { emission in
                    dispatchPrecondition(condition: .onQueue(queue))
                    events.append(emission.source.rawValue)
                },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await subscription.finished()
            #expect(events.all == ["store", "network", "completed"])
            await fixture.origin.stop()
            let failing = fixture.client.startWith(fixture.feed).subscribe(
                onNext: { events.append($0.source.rawValue) },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            await failing.finished()
            #expect(events.all.dropFirst(3) == ["store", "originUnreachable"])
        }
    }

    @Test func cancelledSubscriptionClosesTheRequestWithoutACallback() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            let events = Events()
            let subscription = fixture.client.startWith(fixture.feed).subscribe(
                onNext: { _ in events.append("next") },
                onError: { _ in events.append("error") },
                onCompleted: { events.append("completed") }
            )
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            subscription.cancel()
            await fixture.origin.waitUntilCancelled()
            await subscription.finished()
            #expect(events.all.isEmpty)
            gate.open()
        }
    }

    @Test func releasingASubscriptionCancelsIt() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            var subscription: StreamSubscription? = fixture.client.startWith(fixture.feed).subscribe(onNext: { _ in })
            while fixture.origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            #expect(subscription != nil)
            subscription = nil
            await fixture.origin.waitUntilCancelled()
            gate.open()
        }
    }
}
