/// Decides how a gateway shuts down when it receives signals.
///
/// After the first `SIGTERM`, the gateway keeps serving for a delay but reports that it is not
/// ready, so that load balancers notice before its listeners close. Ctrl-C (`SIGINT`) skips the
/// delay, because no load balancer is involved, and so does a handover: clients wait for the other
/// process.
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
        /// Not a signal: another process has taken over the listeners.
        case handover
    }

    /// The gateway's reaction to a signal.
    package enum Action: Sendable, Hashable {
        /// Reload the configuration.
        case reload
        /// Keep serving for this time, but report that the gateway is not ready. Then call
        /// ``finishDelay()``.
        case delay(Duration)
        /// Close the listeners, and exit when the exchanges in flight are complete.
        case drain
        /// End the delay early, and drain as in ``drain``.
        case endDelay
        /// Exit immediately.
        case exit
        /// Ignore the signal. A gateway that is shutting down does not reload.
        case ignore
    }

    private enum State: Sendable {
        case serving
        case delaying
        case draining
    }

    private var state = State.serving

    package init() {}

    /// Returns the gateway's reaction to a signal.
    ///
    /// - Parameter delay: the configured delay. Only the first `SIGTERM` uses it.
    package mutating func receive(_ signal: Signal, delay: Duration) -> Action {
        switch (signal, state) {
        case (.reload, .serving): return .reload
        case (.reload, .delaying), (.reload, .draining): return .ignore
        case (.terminate, .serving) where delay > .zero:
            state = .delaying
            return .delay(delay)
        case (.interrupt, .serving), (.terminate, .serving), (.handover, .serving):
            state = .draining
            return .drain
        case (.interrupt, .delaying), (.terminate, .delaying), (.handover, .delaying):
            state = .draining
            return .endDelay
        case (.handover, .draining): return .ignore
        case (.interrupt, .draining), (.terminate, .draining): return .exit
        }
    }

    /// Ends the delay when its time has passed.
    ///
    /// - Returns: whether the gateway must drain now; `false` if a signal already ended the delay.
    package mutating func finishDelay() -> Bool {
        switch state {
        case .serving, .draining: return false
        case .delaying:
            state = .draining
            return true
        }
    }
}
