import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// A command to the server about one key. It is sent in the background.
enum LeaseOrder: Sendable {
    case release(FetchLease)
    /// Tells other nodes not to wait.
    case pass(ValueName)
    /// Removes a value that should not exist.
    case remove(ValueName)
}

/// The leases that this node's fetches hold.
final class HeldLeases: Sendable {
    private struct Held {
        var lease: FetchLease
        var since: Timestamp
    }

    private let state = Mutex((next: 1 as UInt64, held: [UInt64: Held]()))

    init() {}

    /// - Returns: the number that identifies the lease for the exchange.
    func insert(_ lease: FetchLease, at now: Timestamp) -> UInt64 {
        state.withLock { state in
            defer { state.next += 1 }
            state.held[state.next] = Held(lease: lease, since: now)
            return state.next
        }
    }

    /// - Returns: `nil` if the lease is no longer held.
    func remove(_ number: UInt64) -> FetchLease? { state.withLock { $0.held.removeValue(forKey: number)?.lease } }

    /// Returns the leases taken after an instant.
    func present(since: Timestamp) -> [FetchLease] {
        state.withLock { $0.held.values.filter { $0.since >= since }.map(\.lease) }
    }
}

/// Keys whose responses cannot be shared. The node skips the peer lookup for them. Each key is
/// remembered for one minute.
final class KeysOutsideFleet: Sendable {
    static let capacity = 4096
    private static let time: Int64 = 60_000

    /// When each entry expires, by hash of the key. Two keys with the same hash share an entry; the
    /// only cost is an extra request.
    private let until = Mutex<[Int: Timestamp]>([:])

    init() {}

    func contains(_ key: StoreKey, at now: Timestamp) -> Bool {
        until.withLock { $0[key.hashValue].map { $0 > now } ?? false }
    }

    func insert(_ key: StoreKey, at now: Timestamp) {
        until.withLock { until in
            if until.count >= Self.capacity {
                until = until.filter { $0.value > now }
                if until.count >= Self.capacity { until = [:] }
            }
            until[key.hashValue] = now.adding(milliseconds: Self.time)
        }
    }
}

/// A circuit breaker for calls to a server that does not reply in time. It opens after five
/// consecutive failures, each for a different key or for no key: repeated failures for one key may
/// be specific to that key. While it is open, it allows one call per second.
final class ValueBreaker: Sendable {
    private static let failures = 5
    private static let pause: Int64 = 1000

    private let state = Mutex((failures: 0, keys: [] as [Int], closedUntil: nil as Timestamp?))

    init() {}

    func admits(at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let until = state.closedUntil else { return true }
            // A clock that was set back must not keep the breaker open.
            guard now >= until || now < until.adding(milliseconds: -Self.pause) else { return false }
            state.closedUntil = now.adding(milliseconds: Self.pause)
            return true
        }
    }

    func succeeded() { state.withLock { $0 = (0, [], nil) } }

    /// - Parameter key: a hash of the requested key; `nil` if the failure does not concern a
    ///   particular key.
    func failed(_ key: Int?, at now: Timestamp) {
        state.withLock { state in
            if state.failures < Self.failures, key.map({ !state.keys.contains($0) }) ?? true {
                if let key { state.keys.append(key) }
                state.failures += 1
            }
            if state.failures >= Self.failures { state.closedUntil = now.adding(milliseconds: Self.pause) }
        }
    }
}
