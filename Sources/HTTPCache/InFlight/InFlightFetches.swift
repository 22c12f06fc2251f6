import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The in-flight fetches, by key.
final class InFlightFetches: Sendable {
    /// The way a caller gets its in-flight fetch.
    enum Admission {
        /// The caller must start this new fetch.
        case lead(InFlightFetch)
        /// The caller joined an existing fetch.
        case joined(InFlightFetch)
        /// Look up again, because a fetch of this key may have ended since the caller's lookup.
        /// Also returned if a fetch is in progress that the caller does not wait for.
        case lookAgain
        /// The cache is shut down.
        case closed
    }

    /// The kind of fetch that a caller needs.
    enum Role {
        /// The existing fetch, if it may serve the caller; otherwise a new fetch that others may
        /// join.
        case sharing
        /// A new fetch that others may join, if none is in progress.
        case leading
        /// A new fetch that no other caller may join.
        case alone
        /// A new fetch without a waiting caller, which others may join, if none is in progress. A
        /// fetch whose body has ended does not count, because a caller that has read the body may
        /// already find the stored response stale.
        case background
        /// Like ``background``, for a part. No other caller may join it, because others may
        /// need more than the part.
        case backgroundPart

        fileprivate var isBackground: Bool { self == .background || self == .backgroundPart }
    }

    /// The decision whether a response may be stored.
    enum Claim {
        case granted
        /// It may be stored once the parts that are being stored are committed. No more parts of
        /// its variant are stored.
        case afterParts
        case refused
    }

    /// The in-flight fetches of a key.
    fileprivate struct Keyed {
        /// The in-flight fetch that others may join.
        private var inFlight: InFlightFetch?
        /// Those that only callers with the same credentials may join.
        private var byCredentials: [StoreKey.Partition: InFlightFetch] = [:]
        /// The number of in-flight fetches.
        var count = 0
        /// The number of the newest fetch that stored a complete response, by selecting header
        /// fields.
        var stored: [HTTPFields: UInt64] = [:]
        /// The numbers of the fetches that are storing parts, by selecting header fields, and the
        /// callers that wait for them.
        private var parts: [HTTPFields: Set<UInt64>] = [:]
        private var waiting: [HTTPFields: [CheckedContinuation<Void, Never>]] = [:]

        /// The in-flight fetches that others may join.
        var joinable: [InFlightFetch] { (inFlight.map { [$0] } ?? []) + byCredentials.values }

        /// Returns the in-flight fetch that a caller with these credentials may join.
        func joinable(with credentials: StoreKey.Partition?) -> InFlightFetch? {
            guard let credentials else { return inFlight }
            return byCredentials[credentials]
        }

        /// - Returns: the fetch that no caller may join from now on: the added fetch, or the fetch
        ///   that it replaces; `nil` if there is none.
        mutating func add(_ added: InFlightFetch, mayBeJoined: Bool) -> InFlightFetch? {
            count += 1
            guard mayBeJoined else { return added }
            defer { set(added, for: added.credentials) }
            return joinable(with: added.credentials)
        }

        /// - Returns: whether callers could join the fetch.
        mutating func remove(_ removed: InFlightFetch) -> Bool {
            guard joinable(with: removed.credentials) === removed else { return false }
            set(nil, for: removed.credentials)
            return true
        }

        private mutating func set(_ new: InFlightFetch?, for credentials: StoreKey.Partition?) {
            if let credentials { byCredentials[credentials] = new } else { inFlight = new }
        }

        mutating func claim(_ number: UInt64, _ variant: HTTPFields, isPart: Bool) -> Claim {
            let newest = stored[variant]
            if isPart {
                guard newest == nil else { return .refused }
                parts[variant, default: []].insert(number)
                return .granted
            }
            guard number > newest ?? 0 else { return .refused }
            stored[variant] = number
            return parts[variant] == nil ? .granted : .afterParts
        }

        /// - Returns: whether parts are being stored, so that the caller is resumed later.
        mutating func wait(_ variant: HTTPFields, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
            guard parts[variant] != nil else { return false }
            waiting[variant, default: []].append(continuation)
            return true
        }

        /// - Returns: the callers to resume, because the last part of a variant is stored.
        mutating func endPart(_ number: UInt64) -> [CheckedContinuation<Void, Never>] {
            guard let variant = parts.first(where: { $0.value.contains(number) })?.key else { return [] }
            parts[variant]?.remove(number)
            guard parts[variant]?.isEmpty == true else { return [] }
            parts[variant] = nil
            return waiting.removeValue(forKey: variant) ?? []
        }
    }

    fileprivate struct State {
        var keys: [StoreKey: Keyed] = [:]
        /// The fetches that no caller may join, by number, so that their order is deterministic.
        var unregistered: [UInt64: InFlightFetch] = [:]
        /// The number of fetches that have ended, by a small hash of the key. It detects a fetch
        /// that ended between a caller's lookup and its attempt to join.
        var ended = [UInt32](repeating: 0, count: 256)
        var nextNumber: UInt64 = 1
        var isClosed = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Returns the number of ended fetches in the key's slot. Call it before the lookup in the
    /// store, and pass the result to ``admit(_:as:seen:fencingNumber:rules:check:mayReuse:)``.
    func endedCount(_ key: StoreKey) -> UInt32 {
        state.withLock { $0.ended[Self.slot(key)] }
    }

    /// - Parameters:
    ///   - seen: ``endedCount(_:)`` before the caller's lookup; `nil` skips the comparison.
    ///   - fencingNumber: the store's current invalidation number. A fetch that began before an
    ///     invalidation serves only the callers that it already has.
    ///   - rules: the rules of the caller's request. A fetch under other rules cannot be joined,
    ///     because it may store a response that these rules do not store.
    ///   - credentials: the credentials that a caller must have to join: see
    ///     ``PreparedRequest/sharedCredentials``.
    ///   - check: the caller's check.
    ///   - mayReuse: returns whether a response that was received before this caller joined, and
    ///     whose body is still arriving, may serve this caller.
    func admit(
        _ key: StoreKey,
        as role: Role = .sharing,
        seen: UInt32? = nil,
        fencingNumber: InvalidationSequence,
        rules: ObjectIdentifier? = nil,
        credentials: StoreKey.Partition? = nil,
        check: ContentCheck? = nil,
        mayReuse: (StoredResponseHead) -> Bool = { _ in true }
    ) -> Admission {
        state.withLock { state in
            if state.isClosed { return .closed }
            if role != .alone, let inFlight = state.keys[key]?.joinable(with: credentials),
                !(role.isBackground && inFlight.hasEndedBody)
            {
                guard role == .sharing else { return .lookAgain }
                // A fetch may have begun after an invalidation that this caller has not noticed
                // yet. Such a fetch is as good as the caller's own.
                if inFlight.fencingNumber >= fencingNumber, inFlight.rules == rules,
                    inFlight.join(check: check, mayReuse)
                {
                    return .joined(inFlight)
                }
            }
            if let seen, seen != state.ended[Self.slot(key)] { return .lookAgain }
            return .lead(state.makeFetch(key, fencingNumber, rules, credentials, check, role))
        }
    }

    /// Decides whether an in-flight fetch may store its response. A complete response may not
    /// replace one from a fetch that began later, and a part (206) may not replace a complete
    /// response from any fetch.
    ///
    /// Fetches of one key run concurrently after an invalidation, or if their requests differ (for
    /// example, in a range, a condition or the variant). A slow response to an older request must
    /// not replace a newer response, and a part would replace bytes that it does not have. Each
    /// variant is stored separately. RFC 9111 §4.1
    func claimStoring(_ inFlight: InFlightFetch, _ key: StoreKey, _ head: StoredResponseHead) -> Claim {
        let isPart = head.status == .partialContent
        return state.withLock { state in
            state.keys[key]?.claim(inFlight.number, head.selectingFields, isPart: isPart) ?? .granted
        }
    }

    /// Returns whether an in-flight fetch may store its response: see ``claimStoring(_:_:_:)``.
    /// Before it returns, parts that the response is to replace are stored.
    func mayStore(_ inFlight: InFlightFetch, _ key: StoreKey, _ head: StoredResponseHead) async -> Bool {
        switch claimStoring(inFlight, key, head) {
        case .granted: return true
        case .refused: return false
        case .afterParts: break
        }
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { $0.keys[key]?.wait(head.selectingFields, continuation) ?? false }
            if !isWaiting { continuation.resume() }
        }
        return true
    }

    /// The number of in-flight fetches.
    var count: Int { state.withLock { $0.keys.values.reduce(0) { $0 + $1.count } } }

    /// Returns whether a key has an in-flight fetch that others may join.
    func isInFlight(_ key: StoreKey) -> Bool { state.withLock { $0.keys[key]?.joinable.isEmpty == false } }

    /// The number of callers waiting for in-flight fetches that others may join.
    var memberCount: Int {
        let inFlightFetches = state.withLock { $0.keys.values.flatMap(\.joinable) }
        return inFlightFetches.reduce(0) { $0 + $1.memberCount }
    }

    /// Whether the cache is shut down.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Prevents more callers from joining an in-flight fetch. The fetch continues.
    func detach(_ inFlight: InFlightFetch, _ key: StoreKey) {
        state.withLock { state in
            guard let place = state.keys.index(forKey: key), state.keys.values[place].remove(inFlight) else {
                return
            }
            state.unregistered[inFlight.number] = inFlight
        }
    }

    /// Ends an in-flight fetch. No caller can join it anymore.
    ///
    /// - Parameter changedNothing: whether nothing was stored, so that callers that have looked up
    ///   need not look up again.
    func end(_ inFlight: InFlightFetch, _ key: StoreKey, changedNothing: Bool = false) {
        let waiting = state.withLock { state in
            var waiting: [CheckedContinuation<Void, Never>] = []
            if !changedNothing { state.ended[Self.slot(key)] &+= 1 }
            if let place = state.keys.index(forKey: key) {
                if !state.keys.values[place].remove(inFlight) { state.unregistered[inFlight.number] = nil }
                waiting = state.keys.values[place].endPart(inFlight.number)
                state.keys.values[place].count -= 1
                if state.keys.values[place].count == 0 { state.keys.remove(at: place) }
            }
            guard state.keys.isEmpty else { return waiting }
            defer { state.drained = [] }
            return waiting + state.drained
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Ends every in-flight fetch, and returns when the last one has ended.
    func close() async {
        cancelAll()
        await finish()
    }

    /// Starts no more fetches, and cancels those in progress.
    func cancelAll() {
        let inFlightFetches = state.withLock { state in
            state.isClosed = true
            return state.keys.values.flatMap(\.joinable) + Array(state.unregistered.values)
        }
        for inFlight in inFlightFetches { inFlight.cancel() }
    }

    /// Starts no more fetches, and returns when the last one has ended.
    func finish() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                state.isClosed = true
                if state.keys.isEmpty { return true }
                state.drained.append(continuation)
                return false
            }
            if isDrained { continuation.resume() }
        }
    }

    /// Returns the slot of a key, computed from the end of the key, where keys differ. If two keys
    /// share a slot, the only effect is an additional lookup.
    private static func slot(_ key: StoreKey) -> Int {
        var hash: UInt32 = 2_166_136_261
        for byte in key.bytes.suffix(16) { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int((hash ^ hash >> 15) & 255)
    }
}

extension InFlightFetches.State {
    /// Creates a fetch with its first caller, or without callers for a background fetch. If the new
    /// fetch may be joined, it replaces the key's previous joinable fetch.
    fileprivate mutating func makeFetch(
        _ key: StoreKey,
        _ fencingNumber: InvalidationSequence,
        _ rules: ObjectIdentifier?,
        _ credentials: StoreKey.Partition?,
        _ check: ContentCheck?,
        _ role: InFlightFetches.Role
    ) -> InFlightFetch {
        let inFlight = InFlightFetch(
            fencingNumber: fencingNumber,
            number: nextNumber,
            rules: rules,
            credentials: credentials,
            check: check,
            isBackground: role.isBackground,
            mayBeJoined: role != .backgroundPart
        )
        nextNumber += 1
        let detached = keys[key, default: InFlightFetches.Keyed()].add(inFlight, mayBeJoined: role != .alone)
        if let detached { unregistered[detached.number] = detached }
        if !role.isBackground { _ = inFlight.join() }
        return inFlight
    }
}
