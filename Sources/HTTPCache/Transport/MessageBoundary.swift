import Synchronization

/// The end of a response on its connection.
///
/// A wrong length becomes apparent only after the response, when bytes arrive that belong to no
/// request. The connection may detect them long after the response was passed on. The cache must
/// not keep such a response. RFC 9112 §6.3
package final class MessageBoundary: Sendable {
    private enum State {
        /// No bytes were found after the response so far. The actions undo the response's changes
        /// to the store.
        case intact([@Sendable () -> Void])
        case crossed
        /// The connection was checked before its next request, or is closed, so no more bytes can
        /// be found.
        case sealed
    }

    private let state = Mutex(State.intact([]))

    package init() {}

    /// Whether bytes were found after the response.
    package var isCrossed: Bool {
        state.withLock { if case .crossed = $0 { true } else { false } }
    }

    /// Records that the connection found bytes after the response. Has no effect once the boundary
    /// is sealed.
    package func cross() {
        for undo in settle(.crossed) { undo() }
    }

    /// Records that no more bytes can be found after the response.
    package func seal() { _ = settle(.sealed) }

    /// - Returns: the actions, which the caller releases outside the lock; none if the boundary is
    ///   already settled.
    private func settle(_ settled: State) -> [@Sendable () -> Void] {
        state.withLock { state in
            guard case .intact(let actions) = state else { return [] }
            state = settled
            return actions
        }
    }

    /// Registers an action that undoes a change to the store.
    ///
    /// - Parameter undo: called once, from any thread, if bytes are found.
    /// - Returns: `false` if bytes have already been found, in which case `undo` is not called.
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
