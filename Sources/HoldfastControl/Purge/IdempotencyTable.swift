import HTTPCacheSemantics

/// The results of requests with an idempotency key, so that a repeated request is not performed
/// again. A pure value: it changes only through the events that it receives.
struct IdempotencyTable<Result: Sendable>: Sendable {
    /// The action for a request.
    enum Action {
        /// The request is new. Perform it, then call ``finish(_:with:)``.
        case perform
        /// The request was already performed. Respond with this result.
        case replay(Result)
        /// A request with this key is still running.
        case isUnderWay
        /// The key was used for a different request.
        case isAnother
    }

    private struct Entry {
        var digest: [UInt8]
        var begun: Timestamp
        var result: Result?
    }

    /// The time that a key and its result are kept, in milliseconds.
    static var lifetime: Int64 { 3_600_000 }
    /// The maximum number of keys. To make room for a new key, the oldest key with a result is
    /// dropped.
    static var limit: Int { 1000 }

    private var entries: [String: Entry] = [:]
    /// The keys, oldest first.
    private var order: [String] = []

    mutating func begin(_ key: String, digest: [UInt8], at now: Timestamp) -> Action {
        removeExpired(at: now)
        if let entry = entries[key] {
            guard entry.digest == digest else { return .isAnother }
            return entry.result.map(Action.replay) ?? .isUnderWay
        }
        if order.count >= Self.limit, let oldest = order.firstIndex(where: { entries[$0]?.result != nil }) {
            entries[order.remove(at: oldest)] = nil
        }
        entries[key] = Entry(digest: digest, begun: now)
        order.append(key)
        return .perform
    }

    /// Ends a request that ``begin(_:digest:at:)`` accepted.
    ///
    /// - Parameter result: `nil` if the request failed; the key may then be used again.
    mutating func finish(_ key: String, with result: Result?) {
        if let result {
            entries[key]?.result = result
        } else {
            entries[key] = nil
            order.removeAll { $0 == key }
        }
    }

    private mutating func removeExpired(at now: Timestamp) {
        while let key = order.first, let entry = entries[key], entry.result != nil,
            now.milliseconds - entry.begun.milliseconds >= Self.lifetime
        {
            entries[key] = nil
            order.removeFirst()
        }
    }
}
