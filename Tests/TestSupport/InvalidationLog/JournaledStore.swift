package import HTTPCache
package import HTTPCacheSemantics
package import HoldfastTesting
import Synchronization

/// An in-memory store with an invalidation log. It has the same contracts as a store on disk and
/// its log.
package final class JournaledStore: ForwardingStore {
    struct State {
        /// The journal; `nil` before the store has joined a fleet log.
        var journal: InMemoryJournal?
        /// The journal and the responses after a power failure; `nil` before the store has joined a
        /// fleet log.
        var durable: (journal: InMemoryJournal, responses: InMemoryResponseStore.State)?
    }

    /// Locked before the state of ``responses``, never within it.
    let state = Mutex(State())
    let responses = InMemoryResponseStore()
    let journalAdditions = AdditionSignal()

    package init() {}

    /// Makes the current content survive a power failure, like a sync of a store on disk.
    func makeDurable() {
        state.withLock { state in
            guard let journal = state.journal else { return }
            state.durable = (journal: journal, responses: responses.withState { $0 })
        }
    }

    /// Loses everything that is not durable, like a store on disk that has joined a fleet log: all
    /// changes since its own last invalidation or its log's last `synchronize`.
    package func cutPower() {
        state.withLock { state in
            guard let durable = state.durable else { return }
            state.journal = durable.journal
            responses.withState { $0 = durable.responses }
        }
    }

    /// Makes this store a copy of another store, like a clone of its volume.
    package func takeNode(of other: JournaledStore) {
        let node = other.state.withLock { $0.journal?.node }
        state.withLock { if let node { $0.journal?.node = node } }
    }

    // MARK: ResponseStore

    package var base: InMemoryResponseStore { responses }

    package func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        let number = state.withLock { state in
            state.journal?.add(FleetInvalidation(id: .random(), scope: scope, effect: effect, issuedAt: now))
            if state.journal != nil { journalAdditions.send() }
            return responses.withState { $0.invalidate(scope, effect) }
        }
        makeDurable()
        changes.publish(StoreChange(.invalidated, scope))
        return number
    }
}
