import HTTPCacheSemantics
import Synchronization

/// One committed invalidation, as what is in memory is checked against it.
struct CommittedInvalidation: Sendable {
    var number: Int64
    var scope: WriteContext.LogScope
    var hash: Int64
}

/// The last invalidations, so that what is in memory is not searched when there is one: each entry
/// checks at its next use what has happened since it was checked last.
final class InvalidationRing: Sendable {
    private struct State {
        var records: [CommittedInvalidation] = []
        /// Numbers up to this one are no longer remembered.
        var floor: Int64
    }

    /// Invalidations that are remembered; an entry that was not used for longer is read from the
    /// disk again.
    static let capacity = 512

    private let state: Mutex<State>

    /// - Parameter last: the number of the last invalidation so far.
    init(last: Int64) {
        state = Mutex(State(floor: last))
    }

    /// Notes what was committed, before its number is published.
    func append(_ invalidations: [CommittedInvalidation]) {
        state.withLock { state in
            state.records += invalidations
            let excess = state.records.count - Self.capacity
            guard excess > 0 else { return }
            state.floor = state.records[excess - 1].number
            state.records.removeFirst(excess)
        }
    }

    /// Whether an invalidation after `number` may be about a response.
    ///
    /// - Parameter originHash: asked for seldom; `nil`: a removal by prefix may be about it,
    ///   whichever origin's.
    func concerns(
        _ subject: InvalidationSubject,
        after number: Int64,
        originHash: @autoclosure () -> Int64? = nil
    ) -> Bool {
        state.withLock { state in
            if number < state.floor { return true }
            for record in state.records.reversed() {
                if record.number <= number { break }
                if subject.isConcerned(by: record, originHash: originHash()) { return true }
            }
            return false
        }
    }
}

/// What an invalidation can find a response by.
struct InvalidationSubject: Sendable {
    var keyHash: Int64
    var targetHash: Int64
    var tagHashes: [Int64] = []

    func isConcerned(by record: CommittedInvalidation, originHash: @autoclosure () -> Int64?) -> Bool {
        switch record.scope {
        case .all: true
        // Seldom, so what is in memory does not know its origin.
        case .prefix: originHash().map { $0 == record.hash } ?? true
        case .target: record.hash == targetHash
        case .key, .object: record.hash == keyHash
        case .tag: tagHashes.contains(record.hash)
        }
    }
}
