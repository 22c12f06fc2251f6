import NIOCore

/// The responses that one event loop serves immediately, found by the bytes of the request's head
/// and the client's traits. Only that loop uses it, so it needs no lock.
///
/// The number of responses and their bytes are limited. A response is added when its request is
/// seen for the second time. It is evicted when its slot is needed, unless it was used since the
/// slot was last needed.
final class HotTable {
    /// The number of slots per set.
    private static let ways = 4

    private struct Slot {
        /// The hash of the request. If the hash differs, the response is not accessed.
        let hash: Int
        let response: HotResponse
        var wasUsed: Bool
    }

    private var slots: [Slot?]
    /// Hashes of requests that were seen. Part of the hash determines the index, and a newer hash
    /// replaces an older one.
    private var seen: [Int]
    private let mask: Int
    private let limit: Int
    private var bytes = 0
    /// The number of requests served from this table.
    var responseCount = 0
    private var hand = 0

    /// The maximum number of bytes of all responses on a loop: 16 MiB
    static let standardLimit = 16 << 20

    /// - Parameters:
    ///   - sets: a power of two. The table holds at most four times as many responses.
    ///   - limit: the maximum number of bytes of all responses.
    init(sets: Int = 1024, limit: Int = HotTable.standardLimit) {
        slots = Array(repeating: nil, count: sets * Self.ways)
        seen = Array(repeating: 0, count: sets * Self.ways)
        mask = sets - 1
        self.limit = limit
    }

    /// The number of responses.
    var count: Int { slots.count { $0 != nil } }

    /// Returns the hash of a head. It is seeded per process, so that clients cannot choose requests
    /// that collide.
    static func hash(_ head: ByteBuffer) -> Int {
        head.withUnsafeReadableBytes { bytes in
            var hasher = Hasher()
            hasher.combine(bytes: bytes)
            return hasher.finalize()
        }
    }

    /// Returns the response to a request with this key.
    func response(to key: HotKey) -> HotResponse? {
        let first = (key.hash & mask) * Self.ways
        for index in first..<first + Self.ways {
            guard slots[index]?.hash == key.hash, let response = slots[index]?.response,
                response.request == key.head
            else { continue }
            slots[index]?.wasUsed = true
            return response
        }
        return nil
    }

    /// Records that a request was seen. Returns whether it was seen before, if the table still
    /// remembers that.
    func markSeen(hash: Int) -> Bool {
        let place = Int(truncatingIfNeeded: UInt(bitPattern: hash) >> 20) & (seen.count - 1)
        if seen[place] == hash { return true }
        seen[place] = hash
        return false
    }

    /// Adds a response, unless it is too large.
    func keep(_ response: HotResponse) {
        guard response.cost <= limit / 8 else { return }
        let first = (response.hash & mask) * Self.ways
        var place = first
        for index in first..<first + Self.ways {
            guard let slot = slots[index] else {
                place = index
                break
            }
            if !slot.wasUsed { place = index }
            slots[index]?.wasUsed = false
        }
        empty(place)
        slots[place] = Slot(hash: response.hash, response: response, wasUsed: true)
        bytes += response.cost
        while bytes > limit {
            hand = (hand + 1) % slots.count
            if slots[hand]?.wasUsed == true {
                slots[hand]?.wasUsed = false
            } else {
                empty(hand)
            }
        }
    }

    /// Removes a response that is no longer valid.
    func forget(_ response: HotResponse) {
        let first = (response.hash & mask) * Self.ways
        for index in first..<first + Self.ways where slots[index]?.response === response { empty(index) }
    }

    private func empty(_ index: Int) {
        guard let slot = slots[index].take() else { return }
        bytes -= slot.response.cost
    }
}
