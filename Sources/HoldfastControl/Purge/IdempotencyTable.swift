import HTTPCacheSemantics

/// The results of requests with an idempotency key, so that a repeated request is not performed
/// again. It is a value that only sees the events it is given.
struct IdempotencyTable<Result: Sendable>: Sendable {
    /// How a request is treated.
    enum Action {
        /// It is new: perform it, then call ``finish(_:with:)``.
        case perform
        /// It was performed: respond with this result.
        case replay(Result)
        /// A request with the key is being performed.
        case isUnderWay
        /// The key belonged to another request.
        case isAnother
    }

    private struct Entry {
        var digest: [UInt8]
        var begun: Timestamp
        var result: Result?
    }

    /// How long a result is kept, in milliseconds.
    static var lifetime: Int64 { 3_600_000 }
    /// The most keys that are kept. Beyond it the oldest result is forgotten.
    static var limit: Int { 1000 }

    private var entries: [String: Entry] = [:]
    /// The keys, the oldest first.
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

    /// Ends a request that ``begin(_:digest:at:)`` let through.
    ///
    /// - Parameter result: `nil` if it failed: the key may be used again.
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
