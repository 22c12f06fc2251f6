import Synchronization

/// A committed invalidation, in the form that entries in memory are checked against.
package struct CommittedInvalidation: Sendable {
    package var number: Int64
    package var scope: LogScope
    package var hash: Int64

    package init(number: Int64, scope: LogScope, hash: Int64) {
        self.number = number
        self.scope = scope
        self.hash = hash
    }
}

/// The last invalidation of each scope. An invalidation does not search the memory tier. Instead,
/// each entry checks on its next use whether an invalidation since its last check affects it.
///
/// A check looks up the scopes of one entry, so it costs the same after one invalidation as after
/// thousands.
package final class KnownInvalidations: Sendable {
    private struct Key: Hashable {
        var scope: LogScope
        var hash: Int64
    }

    private struct State {
        var last: [Key: Int64] = [:]
        /// The number of the last invalidation that covered everything.
        var lastOfAll: Int64 = 0
        /// The number of the last invalidation of any prefix, principal, or prefix of objects.
        var lastOfWide: Int64 = 0
        /// The highest number that is no longer remembered.
        var lowWaterMark: Int64
    }

    /// The number of scopes to remember, which take about 1 MiB. An entry whose last check was
    /// before the oldest remembered invalidation is read from disk again.
    static let capacity = 16_384

    private let state: Mutex<State>

    /// - Parameter last: the number of the last invalidation so far.
    package init(last: Int64) {
        state = Mutex(State(lowWaterMark: last))
    }

    /// Adds committed invalidations, before their numbers are published.
    package func append(_ invalidations: [CommittedInvalidation]) {
        state.withLock { state in
            for invalidation in invalidations {
                switch invalidation.scope {
                case .all: state.lastOfAll = invalidation.number
                case .prefix, .principal, .objects:
                    state.lastOfWide = invalidation.number
                    state.last[Key(scope: invalidation.scope, hash: invalidation.hash)] = invalidation.number
                case .target, .key, .tag, .object:
                    state.last[Key(scope: invalidation.scope, hash: invalidation.hash)] = invalidation.number
                }
            }
            if state.last.count > Self.capacity { Self.forget(&state) }
        }
    }

    /// Drops the older half of the scopes. Dropping half at once makes this rare.
    private static func forget(_ state: inout State) {
        let numbers = state.last.values.sorted()
        let lowWaterMark = numbers[numbers.count / 2]
        state.last = state.last.filter { $0.value > lowWaterMark }
        state.lowWaterMark = max(state.lowWaterMark, lowWaterMark)
    }

    /// Returns whether an invalidation after `number` may affect a response.
    ///
    /// - Parameter wide: computed only for invalidations by prefix and principal. With `nil`, any
    ///   such invalidation may affect the entry.
    package func concerns(
        _ subject: InvalidationSubject,
        after number: Int64,
        wide: @autoclosure () -> WideHashes? = nil
    ) -> Bool {
        state.withLock { state in
            if number < state.lowWaterMark || number < state.lastOfAll { return true }
            func isInvalidated(_ scope: LogScope, _ hash: Int64) -> Bool {
                state.last[Key(scope: scope, hash: hash)].map { $0 > number } ?? false
            }
            if isInvalidated(.target, subject.targetHash) || isInvalidated(.key, subject.keyHash)
                || isInvalidated(.object, subject.keyHash)
                || subject.tagHashes.contains(where: { isInvalidated(.tag, $0) })
            {
                return true
            }
            // These invalidations are rare, so entries in memory do not hold the hashes.
            guard state.lastOfWide > number else { return false }
            guard let hashes = wide() else { return true }
            return isInvalidated(.prefix, hashes.origin) || hashes.owner.map { isInvalidated(.principal, $0) } ?? false
        }
    }
}

/// The hashes by which most invalidations are matched to a response.
package struct InvalidationSubject: Sendable {
    package var keyHash: Int64
    package var targetHash: Int64
    package var tagHashes: [Int64] = []

    package init(keyHash: Int64, targetHash: Int64, tagHashes: [Int64] = []) {
        self.keyHash = keyHash
        self.targetHash = targetHash
        self.tagHashes = tagHashes
    }
}

/// The hashes by which the rarer invalidations are matched to a response.
package struct WideHashes: Sendable {
    package var origin: Int64
    /// The hash of the principal; `nil` if the response does not belong to a named principal.
    package var owner: Int64?

    package init(origin: Int64, owner: Int64? = nil) {
        self.origin = origin
        self.owner = owner
    }
}
