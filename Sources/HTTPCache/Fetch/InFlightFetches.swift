import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The in-flight fetches, by key.
final class InFlightFetches: Sendable {
    /// How a caller gets its in-flight fetch.
    enum Admission {
        /// There was none: the caller must start this one.
        case lead(InFlightFetch)
        /// There is one already.
        case joined(InFlightFetch)
        /// An in-flight fetch of this key may have ended since the caller looked into the store:
        /// look again. Or one is under way, and the caller does not wait for another's.
        case lookAgain
        /// The cache is shut down.
        case closed
    }

    /// The kinds of in-flight fetches that callers ask for.
    enum Role {
        /// The in-flight fetch, if it may serve the caller; otherwise a new one that others may
        /// join.
        case sharing
        /// One that others may join, if none is under way.
        case leading
        /// One that no other caller may join.
        case alone
        /// One that no caller waits for yet, and others may join, if none is under way.
        case background
    }

    /// The in-flight fetches of a key.
    fileprivate struct Keyed {
        /// The in-flight fetch that others may join.
        var inFlight: InFlightFetch?
        /// The number of in-flight fetches.
        var count = 0
        /// By selecting fields: the number of the youngest in-flight fetch that was stored.
        var stored: [HTTPFields: UInt64] = [:]
    }

    fileprivate struct State {
        var keys: [CacheKey: Keyed] = [:]
        /// By their numbers, so that the order is the same each time that the same happens.
        var unregistered: [UInt64: InFlightFetch] = [:]
        /// How many in-flight fetches have ended, by a small hash of the key. It closes the gap
        /// between a lookup that missed and joining.
        var ended = [UInt32](repeating: 0, count: 256)
        var nextNumber: UInt64 = 1
        var isClosed = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Taken before the store is looked up, and compared in
    /// ``admit(_:as:seen:fencingNumber:rules:check:mayReuse:)``.
    func endedCount(_ key: CacheKey) -> UInt32 {
        state.withLock { $0.ended[Self.slot(key)] }
    }

    /// - Parameters:
    ///   - seen: ``endedCount(_:)`` before the lookup, for a caller that looked up to be served;
    ///     `nil` skips the comparison.
    ///   - fencingNumber: the store's present invalidation number. An in-flight fetch that began
    ///     before an
    ///     invalidation serves only the callers that it has.
    ///   - rules: those of the caller's request. An in-flight fetch under other rules may store a
    ///     response that these rules do not store.
    ///   - check: the caller's.
    ///   - mayReuse: whether a response that arrived before this caller came, and whose body is
    ///     still under way, may serve it.
    func admit(
        _ key: CacheKey,
        as role: Role = .sharing,
        seen: UInt32? = nil,
        fencingNumber: InvalidationSequence,
        rules: ObjectIdentifier? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> Admission {
        state.withLock { state in
            if state.isClosed { return .closed }
            if role != .alone, let inFlight = state.keys[key]?.inFlight {
                guard role == .sharing else { return .lookAgain }
                // An in-flight fetch that began after an invalidation that this caller has not
                // noticed yet is as good as its own.
                if inFlight.fencingNumber >= fencingNumber, inFlight.rules == rules,
                    inFlight.join(check: check, mayReuse)
                {
                    return .joined(inFlight)
                }
            }
            if let seen, seen != state.ended[Self.slot(key)] { return .lookAgain }
            return .lead(state.makeFetch(key, fencingNumber, rules, check, role))
        }
    }

    /// Whether an in-flight fetch may store its response: no in-flight fetch of the key that began
    /// after it has done so.
    ///
    /// In-flight fetches of one key run side by side when requests differ (a conditional one, a
    /// variant) or after an invalidation. The slower, older response must not replace the newer
    /// one. Each variant is stored on its own. RFC 9111 §4.1
    ///
    /// - Parameter isPart: it is a part (206), which may not replace a newer whole, but keeps no
    ///   older whole out.
    func claimStoring(_ inFlight: InFlightFetch, _ key: CacheKey, _ head: StoredResponseHead, isPart: Bool = false)
        -> Bool
    {
        state.withLock { state in
            let variant = head.selectingFields
            guard inFlight.number > state.keys[key]?.stored[variant] ?? 0 else { return false }
            if !isPart { state.keys[key]?.stored[variant] = inFlight.number }
            return true
        }
    }

    /// The in-flight fetches.
    var count: Int { state.withLock { $0.keys.values.reduce(0) { $0 + $1.count } } }

    /// Whether a key has an in-flight fetch that others may join.
    func isInFlight(_ key: CacheKey) -> Bool { state.withLock { $0.keys[key]?.inFlight != nil } }

    /// Callers that wait for in-flight fetches that others may join.
    var memberCount: Int {
        let inFlightFetches = state.withLock { $0.keys.values.compactMap(\.inFlight) }
        return inFlightFetches.reduce(0) { $0 + $1.memberCount }
    }

    /// Whether the cache is shut down.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Keeps further callers from joining this in-flight fetch, which continues.
    func detach(_ inFlight: InFlightFetch, _ key: CacheKey) {
        state.withLock { state in
            guard let place = state.keys.index(forKey: key), state.keys.values[place].inFlight === inFlight else {
                return
            }
            state.keys.values[place].inFlight = nil
            state.unregistered[inFlight.number] = inFlight
        }
    }

    /// Ends an in-flight fetch: no caller can join it any more.
    ///
    /// - Parameter changedNothing: nothing was stored, so that callers that have looked up need not
    ///   look again.
    func end(_ inFlight: InFlightFetch, _ key: CacheKey, changedNothing: Bool = false) {
        let drained = state.withLock { state in
            if !changedNothing { state.ended[Self.slot(key)] &+= 1 }
            if let place = state.keys.index(forKey: key) {
                if state.keys.values[place].inFlight === inFlight {
                    state.keys.values[place].inFlight = nil
                } else {
                    state.unregistered[inFlight.number] = nil
                }
                state.keys.values[place].count -= 1
                if state.keys.values[place].count == 0 { state.keys.remove(at: place) }
            }
            guard state.keys.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.drained = [] }
            return state.drained
        }
        for waiter in drained { waiter.resume() }
    }

    /// Ends every in-flight fetch and returns when the last has ended.
    func close() async {
        let inFlightFetches = state.withLock { state in
            state.isClosed = true
            return state.keys.values.compactMap(\.inFlight) + Array(state.unregistered.values)
        }
        for inFlight in inFlightFetches { inFlight.cancel() }
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.keys.isEmpty { return true }
                state.drained.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    /// The slot of a key, by its end, because keys differ there. If two keys share a slot, a caller
    /// looks up again, and nothing else happens.
    private static func slot(_ key: CacheKey) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in key.bytes.suffix(16) { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int((hash ^ hash >> 15) & 255)
    }
}

extension InFlightFetches.State {
    /// An in-flight fetch with its first member, or with none. An in-flight fetch that may be
    /// joined replaces the one before.
    fileprivate mutating func makeFetch(
        _ key: CacheKey,
        _ fencingNumber: InvalidationSequence,
        _ rules: ObjectIdentifier?,
        _ check: ContentCheck?,
        _ role: InFlightFetches.Role
    ) -> InFlightFetch {
        let isBackground = role == .background
        let inFlight = InFlightFetch(
            fencingNumber: fencingNumber,
            number: nextNumber,
            rules: rules,
            check: check,
            isBackground: isBackground
        )
        nextNumber += 1
        let detached = keys[key, default: InFlightFetches.Keyed()].add(inFlight, mayBeJoined: role != .alone)
        if let detached { unregistered[detached.number] = detached }
        if !isBackground { _ = inFlight.join() }
        return inFlight
    }
}

extension InFlightFetches.Keyed {
    /// - Returns: the in-flight fetch that no caller may join: this one, or the one that it
    ///   replaces.
    fileprivate mutating func add(_ added: InFlightFetch, mayBeJoined: Bool) -> InFlightFetch? {
        count += 1
        guard mayBeJoined else { return added }
        defer { inFlight = added }
        return inFlight
    }
}
