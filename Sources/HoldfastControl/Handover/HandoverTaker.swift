/// Decides what a process does that wants to replace a running gateway.
///
/// ```swift
/// var taker = HandoverTaker()
/// taker.receive(.message(.offer(offer)), holding: 2)  // .prepare(offer), if it has 2 sockets
/// taker.prepare()                                     // .send(.ready)
/// taker.receive(.message(.released), holding: 2)      // .start
/// ```
package struct HandoverTaker: Sendable {
    package enum Event: Sendable, Hashable {
        case message(HandoverMessage)
        /// The old process has sent something else, for this reason.
        case invalid(String)
        /// The old process has closed the connection, or has ended.
        case closed
        case timedOut
    }

    package enum Action: Sendable, Hashable {
        /// Wait for the next message.
        case wait
        /// Prepare everything except the store, and call ``prepare()`` or ``fail(_:)``.
        case prepare(HandoverOffer)
        /// Send this message.
        case send(HandoverMessage)
        /// Open the store and accept connections on the sockets that were received.
        case start
        /// Start like a gateway that replaces no other. If one runs after all, the lock of its
        /// store prevents that.
        case startAlone
        /// Exit, for this reason. The old process continues to serve.
        case fail(String)
    }

    private enum State: Sendable {
        case greeting
        /// The offer, and the number of descriptors that were announced.
        case receiving(HandoverOffer, Int)
        case preparing
        case waiting
        case done
    }

    private var state = State.greeting

    package init() {}

    /// - Parameter held: the number of descriptors that have been received.
    package mutating func receive(_ event: Event, holding held: Int) -> Action {
        switch event {
        case .message(let message): return receive(message, held)
        case .invalid(let reason): return end(.fail("The running gateway cannot be replaced. \(reason)"))
        case .timedOut:
            return end(.fail("The running gateway did not respond in time. It may still serve."))
        case .closed:
            switch state {
            case .greeting, .receiving: return end(.startAlone)
            // The kernel has released the store, if the gateway has not.
            case .preparing, .waiting, .done: return end(.start)
            }
        }
    }

    private mutating func receive(_ message: HandoverMessage, _ held: Int) -> Action {
        switch (message, state) {
        case (.refused(let reason), _): return end(.fail("The running gateway cannot be replaced: \(reason)"))
        case (.offer(let offer), .greeting):
            state = .receiving(offer, 0)
            return .wait
        case (.descriptors(let count), .receiving(let offer, let announced)):
            let sum = announced + Int(clamping: count)
            guard sum <= held, sum <= offer.descriptorCount else { return unexpected() }
            guard sum == offer.descriptorCount else {
                state = .receiving(offer, sum)
                return .wait
            }
            guard held == sum else { return unexpected() }
            state = .preparing
            return .prepare(offer)
        case (.released, .waiting): return end(.start)
        default: return unexpected()
        }
    }

    private mutating func unexpected() -> Action {
        end(.fail("The running gateway sent a message that was not expected."))
    }

    private mutating func end(_ action: Action) -> Action {
        state = .done
        return action
    }

    /// Records that everything except the store is prepared.
    package mutating func prepare() -> Action {
        state = .waiting
        return .send(.ready)
    }

    /// Records that this process cannot start.
    package mutating func fail(_ reason: String) -> Action {
        state = .done
        return .send(.failed(reason))
    }
}
