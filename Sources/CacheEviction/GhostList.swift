/// The keys of entries that were evicted recently, with their uses.
///
/// An entry that comes back soon was evicted too early, so it gets its uses back. A key is a hash
/// of 64 bits: two entries with the same hash share their uses.
struct GhostList: Sendable {
    struct Ghost {
        var uses: Float
        var lastUse: UInt32
        /// Distinguishes it from earlier ghosts of the same key.
        var number: UInt32
    }

    private struct Place {
        var key: Int64
        var number: UInt32
    }

    /// The approximate bytes of a ghost and its two places in the order.
    static let ghostOverhead =
        2 * (MemoryLayout<Int64>.stride + MemoryLayout<Ghost>.stride + MemoryLayout<Place>.stride)

    private var ghosts: [Int64: Ghost] = [:]
    /// The ghosts by age, and those that were taken since.
    private var order: [Place] = []
    private var oldest = 0
    private var lastNumber: UInt32 = 0

    var count: Int { ghosts.count }

    func contains(_ key: Int64) -> Bool { ghosts[key] != nil }

    /// Removes and returns a ghost.
    mutating func take(_ key: Int64) -> Ghost? { ghosts.removeValue(forKey: key) }

    /// Adds a ghost, and removes the oldest ones.
    ///
    /// - Parameter limit: the number of ghosts that may remain.
    mutating func add(_ key: Int64, uses: Float, lastUse: UInt32, limit: Int) {
        lastNumber &+= 1
        ghosts[key] = Ghost(uses: uses, lastUse: lastUse, number: lastNumber)
        order.append(Place(key: key, number: lastNumber))
        while ghosts.count > limit || order.count - oldest > 2 * limit {
            let place = order[oldest]
            oldest += 1
            if ghosts[place.key]?.number == place.number { ghosts[place.key] = nil }
        }
        // Removing half of the places at once takes constant time for each.
        if oldest > order.count / 2 {
            order.removeFirst(oldest)
            oldest = 0
        }
    }
}
