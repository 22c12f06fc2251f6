import Synchronization

/// The end of a response on its connection.
///
/// A wrong length shows only after the response: bytes arrive that belong to no request. The
/// connection sees them, perhaps long after the response was handed over. The cache must not keep
/// such a response. RFC 9112 §6.3
package final class MessageBoundary: Sendable {
    private enum State {
        /// No bytes were found after the response so far. The actions undo the changes that it made
        /// to the store.
        case intact([@Sendable () -> Void])
        case crossed
        /// The connection was checked before its next request, or is closed: no bytes can be found
        /// now.
        case sealed
    }

    private let state = Mutex(State.intact([]))

    package init() {}

    /// Whether bytes were found after the response.
    package var isCrossed: Bool {
        state.withLock { if case .crossed = $0 { true } else { false } }
    }

    /// Records that the connection found bytes after the response. Does nothing once it is sealed.
    package func cross() {
        for undo in settle(.crossed) { undo() }
    }

    /// Records that no more bytes can be found after the response.
    package func seal() { _ = settle(.sealed) }

    /// - Returns: the actions, which are released outside the lock; none once it is settled.
    private func settle(_ settled: State) -> [@Sendable () -> Void] {
        state.withLock { state in
            guard case .intact(let actions) = state else { return [] }
            state = settled
            return actions
        }
    }

    /// Remembers how to undo a change of the store.
    ///
    /// - Parameter undo: called once, from any thread, when bytes are found.
    /// - Returns: `false` if bytes were found before; then `undo` is not called.
    package func whenCrossed(_ undo: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            switch state {
            case .intact(let actions):
                state = .intact(actions + [undo])
                return true
            case .crossed: return false
            case .sealed: return true
            }
        }
    }
}
