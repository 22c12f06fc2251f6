import HTTPCache
import HTTPTypes
import Synchronization

/// Caches the rules for recently requested targets, by the raw bytes of the target.
///
/// It holds at most ``limit`` targets, in at most ``byteLimit`` bytes. Targets are evicted by the
/// second-chance algorithm: a target that was requested again since it was last considered for
/// eviction stays. A flood of targets that are each requested once therefore evicts only other such
/// targets. The memory is split into shards with one lock each, so that requests rarely wait for
/// each other.
final class TargetMemory: Sendable {
    /// The entry for one target.
    enum Entry: Sendable {
        case rules(RequestRules)
        /// The rules depend on the query. The target with its query has a separate entry.
        case dependsOnQuery
    }

    static let limit = 8192
    static let byteLimit = 4 << 20
    /// The maximum length of a remembered target, in bytes. Longer targets are matched on every
    /// request.
    static let longestTarget = 4096
    fileprivate static let shardCount = 16

    private let shards = (0..<shardCount).map { _ in Shard() }

    private final class Shard: Sendable {
        let state = Mutex(State())
    }

    fileprivate struct Slot {
        var hash: Int
        var method: String
        var scheme: String
        var authority: String
        var path: [UInt8]
        var hasQuery: Bool
        var entry: Entry
        var wasUsed = false

        var bytes: Int { method.utf8.count + scheme.utf8.count + authority.utf8.count + path.count }
    }

    fileprivate struct State {
        var slots: [Slot] = []
        var places: [Int: Int] = [:]
        var hand = 0
        var bytes = 0
    }

    /// The bytes that identify a target, and their hash.
    struct Key {
        fileprivate let method: String
        fileprivate let scheme: String
        fileprivate let authority: String
        fileprivate let path: String
        /// The number of path bytes in the key.
        fileprivate let length: Int
        fileprivate let withQuery: Bool
        fileprivate let hash: Int

        /// Creates the key for a request's target. Returns `nil` if the request has no complete
        /// target.
        ///
        /// - Parameter withQuery: whether the key includes the query. For a target without a query,
        ///   both keys have the same bytes.
        init?(_ request: HTTPRequest, withQuery: Bool) {
            guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
                return nil
            }
            method = request.method.rawValue
            self.scheme = scheme
            self.authority = authority
            self.path = path
            self.withQuery = withQuery
            let all = path.utf8.count
            var length = all
            if !withQuery {
                length = path.withBytes { $0.firstIndex(of: UInt8(ascii: "?")) ?? all }
            }
            self.length = length
            guard length + authority.utf8.count + method.utf8.count <= TargetMemory.longestTarget else { return nil }
            var hasher = Hasher()
            // One zero byte after each part is a sufficient separator: a method is a token, a
            // scheme and an authority contain no slash, and the path begins with a slash.
            for text in [method, scheme, authority] {
                text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
                hasher.combine(UInt8(0))
            }
            path.withBytes {
                hasher.combine(bytes: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: $0[..<length])))
            }
            hasher.combine(withQuery)
            hash = hasher.finalize()
        }

        fileprivate func isOf(_ slot: Slot) -> Bool {
            slot.path.count == length && slot.hasQuery == withQuery && slot.authority == authority
                && slot.method == method && slot.scheme == scheme
                && path.withBytes { $0[..<length].elementsEqual(slot.path) }
        }
    }

    func entry(for key: Key) -> Entry? {
        shards[key.hash & (Self.shardCount - 1)].state.withLock { state in
            guard let place = state.places[key.hash], key.isOf(state.slots[place]) else { return nil }
            state.slots[place].wasUsed = true
            return state.slots[place].entry
        }
    }

    func remember(_ entry: Entry, for key: Key) {
        let path = key.path.withBytes { Array($0[..<key.length]) }
        let slot = Slot(
            hash: key.hash,
            method: key.method,
            scheme: key.scheme,
            authority: key.authority,
            path: path,
            hasQuery: key.withQuery,
            entry: entry
        )
        shards[key.hash & (Self.shardCount - 1)].state.withLock { $0.insert(slot) }
    }

    /// The current number of targets and bytes.
    var size: (targets: Int, bytes: Int) {
        shards.map { $0.state.withLock { ($0.slots.count, $0.bytes) } }.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    }
}

extension TargetMemory.State {
    fileprivate mutating func insert(_ slot: TargetMemory.Slot) {
        if let place = places[slot.hash] {
            bytes += slot.bytes - slots[place].bytes
            slots[place] = slot
        } else {
            makeRoom(for: slot)
            places[slot.hash] = slots.count
            slots.append(slot)
            bytes += slot.bytes
        }
    }

    private mutating func makeRoom(for slot: TargetMemory.Slot) {
        let limit = TargetMemory.limit / TargetMemory.shardCount
        let byteLimit = TargetMemory.byteLimit / TargetMemory.shardCount
        while !slots.isEmpty, slots.count >= limit || bytes + slot.bytes > byteLimit {
            hand %= slots.count
            if slots[hand].wasUsed {
                slots[hand].wasUsed = false
                hand += 1
            } else {
                remove(at: hand)
            }
        }
    }

    private mutating func remove(at place: Int) {
        bytes -= slots[place].bytes
        places[slots[place].hash] = nil
        // The last slot moves into the free position and the hand advances, so the newest slot is
        // examined last.
        let last = slots.removeLast()
        if place < slots.count {
            slots[place] = last
            places[last.hash] = place
        }
        hand = place + 1
    }
}

extension String {
    /// Calls `body` with the UTF-8 bytes, without copying if the storage is contiguous.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(utf8).withUnsafeBufferPointer(body)
    }
}
