/// How a gateway ends, decided from the signals that it gets.
///
/// After the first `SIGTERM` it serves on for a delay, as one that is not ready, so that load
/// balancers notice before its listeners close. A person who presses Ctrl-C (`SIGINT`) waits for no
/// balancer.
///
/// ```swift
/// var sequence = EndSequence()
/// sequence.receive(.terminate, delay: .seconds(5))  // .delay(.seconds(5))
/// sequence.receive(.terminate, delay: .seconds(5))  // .endDelay
/// sequence.receive(.terminate, delay: .seconds(5))  // .exit
/// ```
package struct EndSequence: Sendable {
    /// A signal.
    package enum Signal: Sendable, Hashable, CaseIterable {
        /// `SIGHUP`
        case reload
        /// `SIGINT`
        case interrupt
        /// `SIGTERM`
        case terminate
    }

    /// How the gateway acts on a signal.
    package enum Action: Sendable, Hashable {
        /// It reloads its configuration.
        case reload
        /// It serves on for this time, and is not ready. Then ``finishDelay()`` decides.
        case delay(Duration)
        /// It closes its listeners, and ends when the exchanges under way are done.
        case drain
        /// It ends the delay, and drains.
        case endDelay
        /// It ends at once.
        case exit
        /// It does nothing: it is ending, and reloads nothing.
        case ignore
    }

    private enum State: Sendable {
        case serving
        case delaying
        case draining
    }

    private var state = State.serving

    package init() {}

    /// - Parameter delay: the delay in force now. It applies to the first signal alone.
    package mutating func receive(_ signal: Signal, delay: Duration) -> Action {
        switch (signal, state) {
        case (.reload, .serving): return .reload
        case (.reload, .delaying), (.reload, .draining): return .ignore
        case (.terminate, .serving) where delay > .zero:
            state = .delaying
            return .delay(delay)
        case (.interrupt, .serving), (.terminate, .serving):
            state = .draining
            return .drain
        case (.interrupt, .delaying), (.terminate, .delaying):
            state = .draining
            return .endDelay
        case (.interrupt, .draining), (.terminate, .draining): return .exit
        }
    }

    /// Ends the delay when its time is over.
    ///
    /// - Returns: whether the gateway drains now. A signal may have ended the delay before.
    package mutating func finishDelay() -> Bool {
        switch state {
        case .serving, .draining: return false
        case .delaying:
            state = .draining
            return true
        }
    }
}
