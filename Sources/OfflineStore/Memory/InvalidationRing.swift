import HTTPCacheSemantics
import Synchronization

/// A committed invalidation, in the form that entries in memory are checked against.
struct CommittedInvalidation: Sendable {
    var number: Int64
    var scope: WriteContext.LogScope
    var hash: Int64
}

/// The last invalidations. An invalidation does not search the memory tier: each entry checks at
/// its next use which invalidations came after its last check.
final class InvalidationRing: Sendable {
    private struct State {
        var records: [CommittedInvalidation] = []
        /// The last number that is no longer remembered.
        var floor: Int64
    }

    /// The number of invalidations that are remembered. An entry that was not checked for longer is
    /// read from disk again.
    static let capacity = 512

    private let state: Mutex<State>

    /// - Parameter last: the number of the last invalidation so far.
    init(last: Int64) {
        state = Mutex(State(floor: last))
    }

    /// Adds committed invalidations, before their numbers are published.
    func append(_ invalidations: [CommittedInvalidation]) {
        state.withLock { state in
            state.records += invalidations
            let excess = state.records.count - Self.capacity
            guard excess > 0 else { return }
            state.floor = state.records[excess - 1].number
            state.records.removeFirst(excess)
        }
    }

    /// Returns whether an invalidation after `number` may concern a response.
    ///
    /// - Parameter originHash: computed only for removals by prefix; with `nil`, such a removal may
    ///   concern the response whatever its origin.
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

/// The hashes by which an invalidation is matched to a response.
struct InvalidationSubject: Sendable {
    var keyHash: Int64
    var targetHash: Int64
    var tagHashes: [Int64] = []

    func isConcerned(by record: CommittedInvalidation, originHash: @autoclosure () -> Int64?) -> Bool {
        switch record.scope {
        case .all: true
        // Prefix invalidations are rare, so entries in memory do not hold their origin's hash.
        case .prefix: originHash().map { $0 == record.hash } ?? true
        case .target: record.hash == targetHash
        case .key, .object: record.hash == keyHash
        case .tag: tagHashes.contains(record.hash)
        }
    }
}
