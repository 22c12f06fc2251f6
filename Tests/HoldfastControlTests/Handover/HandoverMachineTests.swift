import Testing

@testable import HoldfastControl

/// Both sides of a handover as values.
@Suite(.timeLimit(.minutes(20))) struct HandoverMachineTests {
    typealias Event = HandoverGiver.Event
    typealias Action = HandoverGiver.Action

    private static let connected: [Event] = [.connected(1, user: 7)]
    private static let offering = connected + [.message(1, .hello)]
    private static let draining = offering + [.message(1, .ready)]
    private static let ending = draining + [.drained(1)]

    private func last(_ events: [Event]) -> [Action] {
        var giver = HandoverGiver(user: 7)
        return events.reduce([]) { giver.receive($1) }
    }

    @Test func giverDrainsOnceTheOtherIsReadyAndEndsOnceItHasDrained() {
        #expect(last(Self.connected) == [])
        #expect(last(Self.offering) == [.offer(1)])
        #expect(last(Self.draining) == [.drain(1)])
        #expect(last(Self.ending) == [.end(1)])
        #expect(last(Self.ending + [.hasEnded]) == [.tellReleased(1)])
    }

    private static let lost = "The new process ended before it could start."
    private static let late = "The next message did not arrive in time."
    private static let odd = "The message was not expected."
    private static let busy = "Another process is already taking over this gateway. Wait until it has started."
    private static let stopping = "This gateway is stopping. Start the new one when it has ended."

    /// Events that happened before, the next one, and what it causes.
    struct Case: Sendable {
        var before: [Event]
        var event: Event
        var actions: [Action]

        init(_ before: [Event], _ more: [Event], _ event: Event, _ actions: [Action]) {
            self.before = before + more
            self.event = event
            self.actions = actions
        }
    }

    private static let cases: [Case] = [
        // The other process fails before there is no way back.
        Case(offering, [], .closed(1), [.resume(lost)]),
        Case(offering, [], .message(1, .failed("No port.")), [.resume("No port.")]),
        Case(offering, [], .timedOut(1), [.refuse(1, late), .resume(late)]),
        Case(offering, [], .invalid(1, "Garbage."), [.refuse(1, "Garbage."), .resume("Garbage.")]),
        Case(offering, [], .cannotOffer(1, "No files."), [.refuse(1, "No files."), .resume("No files.")]),
        Case(offering, [], .message(1, .hello), [.refuse(1, odd), .resume(odd)]),
        Case(offering, [], .message(1, .released), [.refuse(1, odd), .resume(odd)]),
        Case(draining, [], .closed(1), [.resume(lost)]),
        Case(draining, [], .message(1, .failed("No disk.")), [.resume("No disk.")]),
        Case(draining, [], .message(1, .ready), [.refuse(1, odd), .resume(odd)]),
        Case(draining, [.closed(1)], .drained(1), []),
        // The gateway itself takes the time.
        Case(draining, [], .timedOut(1), []),
        Case(ending, [], .timedOut(1), []),
        Case(ending, [], .closed(1), [.reportLoss]),
        Case(ending, [.closed(1)], .hasEnded, []),
        // Out of order.
        Case(connected, [], .message(1, .ready), [.refuse(1, odd)]),
        Case(connected, [], .timedOut(1), [.refuse(1, late)]),
        Case(connected, [], .closed(1), []),
        Case(connected, [], .drained(1), []),
        Case([], [], .message(1, .hello), []),
        Case([], [], .timedOut(1), []),
        Case(offering, [], .drained(1), []),
        Case(draining, [], .drained(2), []),
        Case(offering, [], .hasEnded, []),
        // A second process.
        Case(offering, [.connected(2, user: 7)], .message(2, .hello), [.refuse(2, busy)]),
        Case(draining, [.connected(2, user: 7)], .message(2, .hello), [.refuse(2, busy)]),
        Case(draining, [.connected(2, user: 7)], .message(2, .ready), [.refuse(2, odd)]),
        Case(draining, [.connected(2, user: 7)], .closed(2), []),
        Case(ending, [.connected(2, user: 7)], .message(2, .hello), [.refuse(2, stopping)]),
        Case(draining, [.closed(1), .connected(2, user: 7)], .message(2, .hello), [.offer(2)]),
        // The gateway is told to end meanwhile.
        Case([], [], .isEnding, []),
        Case(offering, [], .isEnding, [.refuse(1, stopping)]),
        Case(draining, [], .isEnding, [.end(1)]),
        Case(draining, [.isEnding], .drained(1), []),
        Case(draining, [.isEnding], .hasEnded, [.tellReleased(1)]),
        Case(ending, [], .isEnding, []),
        Case(connected, [.isEnding], .message(1, .hello), [.refuse(1, stopping)]),
    ]

    @Test(arguments: cases) func giverActs(_ item: Case) {
        #expect(last(item.before + [item.event]) == item.actions)
    }

    @Test func giverRefusesOtherUsersAndMoreConnectionsThanItsLimit() {
        for user in [8, 0, nil] as [UInt32?] {
            let actions = last([.connected(1, user: user)])
            guard case .refuse(1, let reason)? = actions.first else {
                Issue.record("not refused: \(actions)")
                continue
            }
            #expect(reason.contains("may not replace this gateway, which user 7 runs") && actions.count == 1)
            // It does not listen to them afterward either.
            #expect(last([.connected(1, user: user), .message(1, .hello)]) == [])
        }
        var giver = HandoverGiver(user: 7)
        let actions = (1...100).map { giver.receive(.connected($0, user: 7)) }
        #expect(actions.prefix(8).allSatisfy { $0.isEmpty })
        #expect(actions.dropFirst(8).allSatisfy { $0.count == 1 })
        // Room again.
        _ = giver.receive(.closed(3))
        #expect(giver.receive(.connected(101, user: 7)) == [])
        #expect(giver.receive(.message(101, .hello)) == [.offer(101)])
    }

    // MARK: The new process

    private typealias TakerEvent = HandoverTaker.Event
    private typealias TakerAction = HandoverTaker.Action
    private static let offer = HandoverMessageTests.offer

    @Test func takerPreparesWhenItHasAllSocketsAndStartsWhenTheStoreIsFree() {
        var taker = HandoverTaker()
        #expect(taker.receive(.message(.offer(Self.offer)), holding: 0) == .wait)
        #expect(taker.receive(.message(.descriptors(3)), holding: 3) == .wait)
        #expect(taker.receive(.message(.descriptors(1)), holding: 4) == .prepare(Self.offer))
        #expect(taker.prepare() == .send(.ready))
        #expect(taker.receive(.message(.released), holding: 4) == .start)
    }

    @Test func takerThatCannotStartSaysSo() {
        var taker = HandoverTaker()
        _ = taker.receive(.message(.offer(Self.offer)), holding: 4)
        _ = taker.receive(.message(.descriptors(4)), holding: 4)
        #expect(taker.fail("No port.") == .send(.failed("No port.")))
    }

    @Test func takerRejectsSocketsThatDoNotFitTheOffer() {
        for (announced, held) in [(4, 3), (5, 5), (4, 5), (3, 2)] as [(UInt8, Int)] {
            var taker = HandoverTaker()
            _ = taker.receive(.message(.offer(Self.offer)), holding: 0)
            guard case .fail = taker.receive(.message(.descriptors(announced)), holding: held) else {
                Issue.record("accepted \(announced) of \(held)")
                continue
            }
        }
    }

    @Test func takerStartsWithTheSocketsIfTheOldProcessEndsAndWithoutThemIfItHasNone() {
        var early = HandoverTaker()
        #expect(early.receive(.closed, holding: 0) == .startAlone)
        var partial = HandoverTaker()
        _ = partial.receive(.message(.offer(Self.offer)), holding: 2)
        #expect(partial.receive(.closed, holding: 2) == .startAlone)
        var late = HandoverTaker()
        _ = late.receive(.message(.offer(Self.offer)), holding: 4)
        _ = late.receive(.message(.descriptors(4)), holding: 4)
        _ = late.prepare()
        #expect(late.receive(.closed, holding: 4) == .start)
    }

    @Test func takerFailsForEverythingElse() {
        let events: [TakerEvent] = [
            .message(.refused("Busy.")), .message(.released), .message(.hello), .message(.ready),
            .message(.failed("x")), .message(.descriptors(1)), .invalid("Garbage."), .timedOut,
        ]
        for event in events {
            var taker = HandoverTaker()
            guard case .fail(let reason) = taker.receive(event, holding: 0) else {
                Issue.record("accepted \(event)")
                continue
            }
            if event == .message(.refused("Busy.")) { #expect(reason.hasSuffix("Busy.")) }
        }
    }
}
