import Synchronization

/// The end of a response on its connection.
///
/// A length that is a lie shows only behind the response: bytes stand there that belong to no
/// request. The connection that the response came by sees them, maybe long after the response was
/// handed over. The cache must not keep what came by it then. RFC 9112 §6.3
package final class MessageBoundary: Sendable {
    private enum State {
        /// Nothing stands behind the response so far. The actions undo what the cache stored of it.
        case intact([@Sendable () -> Void])
        case crossed
        /// The connection was looked at for its next request, or is closed: nothing can be found
        /// any more.
        case sealed
    }

    private let state = Mutex(State.intact([]))

    package init() {}

    /// Bytes stand behind the response.
    package var isCrossed: Bool {
        state.withLock { if case .crossed = $0 { true } else { false } }
    }

    /// The connection has found bytes behind the response. Does nothing once it is sealed.
    package func cross() {
        let actions = state.withLock { state -> [@Sendable () -> Void] in
            guard case .intact(let actions) = state else { return [] }
            state = .crossed
            return actions
        }
        for undo in actions { undo() }
    }

    /// Nothing can be found behind the response any more.
    package func seal() {
        // Let go of under no lock.
        _ = state.withLock { state -> [@Sendable () -> Void] in
            guard case .intact(let actions) = state else { return [] }
            state = .sealed
            return actions
        }
    }

    /// Remembers how to undo a change of the store.
    ///
    /// - Parameter undo: called once, from any thread, when bytes are found.
    /// - Returns: `false` where they were found before: then `undo` is not called.
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
