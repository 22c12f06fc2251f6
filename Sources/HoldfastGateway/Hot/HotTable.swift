import NIOCore

/// The answers that one event loop gives at once, found by the bytes of the request's head. Used on
/// that loop alone, so there is no lock.
///
/// Bounded in number and bytes. An answer comes in when its request is seen for the second time,
/// and goes when its place is needed and nobody has asked since the last time that it was.
final class HotTable {
    /// Requests whose hashes fall together.
    private static let ways = 4

    private struct Slot {
        var answer: HotResponse
        var wasUsed: Bool
    }

    private var slots: [Slot?]
    /// The hash of a request that was seen, by a part of it: one in a place.
    private var seen: [Int]
    private let mask: Int
    private let limit: Int
    private var bytes = 0
    /// Requests that were answered from here.
    var answerCount = 0
    private var hand = 0

    /// Bytes of all answers of a loop together. 16 MiB
    static let standardLimit = 16 << 20

    /// - Parameters:
    ///   - sets: a power of two; four times as many answers are kept at most.
    ///   - limit: bytes of all answers together.
    init(sets: Int = 1024, limit: Int = HotTable.standardLimit) {
        slots = Array(repeating: nil, count: sets * Self.ways)
        seen = Array(repeating: 0, count: sets * Self.ways)
        mask = sets - 1
        self.limit = limit
    }

    /// How many answers there are.
    var count: Int { slots.count { $0 != nil } }

    /// Seeded for each process, so that nobody makes requests meet in one place.
    static func hash(_ head: ByteBuffer) -> Int {
        head.withUnsafeReadableBytes { bytes in
            var hasher = Hasher()
            hasher.combine(bytes: bytes)
            return hasher.finalize()
        }
    }

    /// The answer to a request of these bytes.
    func answer(to head: ByteBuffer, hash: Int) -> HotResponse? {
        let first = (hash & mask) * Self.ways
        for index in first..<first + Self.ways {
            guard let answer = slots[index]?.answer, answer.hash == hash, answer.request == head else { continue }
            slots[index]?.wasUsed = true
            return answer
        }
        return nil
    }

    /// Whether a request has been here before, lately; it has from now on.
    func isSeenAgain(hash: Int) -> Bool {
        let place = Int(truncatingIfNeeded: UInt(bitPattern: hash) >> 20) & (seen.count - 1)
        if seen[place] == hash { return true }
        seen[place] = hash
        return false
    }

    /// Keeps an answer, unless it is too large.
    func keep(_ answer: HotResponse) {
        guard answer.cost <= limit / 8 else { return }
        let first = (answer.hash & mask) * Self.ways
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
        slots[place] = Slot(answer: answer, wasUsed: true)
        bytes += answer.cost
        while bytes > limit {
            hand = (hand + 1) % slots.count
            if slots[hand]?.wasUsed == true {
                slots[hand]?.wasUsed = false
            } else {
                empty(hand)
            }
        }
    }

    /// Forgets an answer that does not hold any more.
    func forget(_ answer: HotResponse) {
        let first = (answer.hash & mask) * Self.ways
        for index in first..<first + Self.ways where slots[index]?.answer === answer { empty(index) }
    }

    private func empty(_ index: Int) {
        guard let slot = slots[index].take() else { return }
        bytes -= slot.answer.cost
    }
}
