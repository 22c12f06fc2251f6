import HTTPCache

/// A shard of the memory tier: an S3-FIFO cache of the entries whose hashes belong to it.
///
/// New entries enter a small queue (a tenth of the budget). An entry that is used again there moves
/// to the main queue; others are evicted. So reading many entries once does not evict entries that
/// are read often. The hash of an entry evicted from the small queue is remembered for a while. If
/// the entry comes back, it enters the main queue directly. A hit increments a counter up to three
/// and moves nothing.
///
/// When the memory is full, an entry read from disk does not enter the small queue. Its hash is
/// remembered, and the entry is admitted when it is read again (``admits(_:cost:)``).
///
/// Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023
struct MemoryShard {
    private struct Node {
        var entry: MemoryEntry?
        var hash: Int64 = 0
        var cost = 0
        /// Distinguishes the entry from previous entries in the same slot.
        var generation: UInt32 = 0
        var frequency: UInt8 = 0
        var isMain = false
        var previous: Int32 = -1
        var next: Int32 = -1
        /// The period of the recency log in which its last use was recorded.
        var period: UInt32 = 0
    }

    private struct Queue {
        var head: Int32 = -1
        var tail: Int32 = -1
        var cost = 0
    }

    /// The number of bytes for a node and its slot in the index, including their share of spare
    /// capacity.
    static let entryOverhead = 2 * MemoryLayout<Node>.stride + 64
    private static let ghostOverhead = 48
    private static let highestFrequency: UInt8 = 3

    let budget: Int
    private var nodes: [Node] = []
    private var freed: [Int32] = []
    private var index: [Int64: Int32] = [:]
    private var small = Queue()
    private var main = Queue()
    /// A ring of the hashes of entries evicted from the small queue.
    private var ghosts: [Int64] = []
    private var ghostSet: Set<Int64> = []
    private var nextGhost = 0
    private let ghostLimit: Int
    /// The number of changes to stored entries. An entry that was read before a change is not
    /// inserted after the change.
    private(set) var version: UInt64 = 0
    private var lastGeneration: UInt32 = 0
    private var lastPeriod: UInt32 = 1

    init(budget: Int) {
        self.ghostLimit = max(16, budget / 4096)
        self.budget = max(0, budget - ghostLimit * Self.ghostOverhead)
    }

    var cost: Int { small.cost + main.cost }
    var count: Int { index.count }

    // MARK: Reading

    /// Returns the slot of an entry.
    func find(_ hash: Int64, _ key: [UInt8]) -> Int32? {
        guard let place = index[hash], nodes[Int(place)].entry?.key == key else { return nil }
        return place
    }

    /// Records a use and returns the value.
    ///
    /// - Returns: the value, the sequence number that it was last checked against, and whether this
    ///   is its first use in a period of the recency log.
    mutating func use(_ place: Int32, period: UInt32) -> (value: MemoryValue, sequence: Int64, isFirst: Bool)? {
        let place = Int(place)
        guard let entry = nodes[place].entry else { return nil }
        if nodes[place].frequency < Self.highestFrequency { nodes[place].frequency += 1 }
        let isFirst = nodes[place].period != period
        if isFirst { nodes[place].period = period }
        return (entry.value, entry.sequence, isFirst)
    }

    func subject(_ place: Int32) -> InvalidationSubject? { nodes[Int(place)].entry?.subject }

    /// Records the number of the last invalidation that an entry was checked against.
    mutating func setSequence(_ sequence: Int64, _ place: Int32) {
        nodes[Int(place)].entry?.sequence = sequence
    }

    // MARK: Changing

    /// Returns whether to insert an entry read from disk.
    ///
    /// An entry is inserted if there is space, or if it was already read a short while ago.
    /// Inserting an entry only to evict another costs more than reading it from disk once more.
    ///
    /// - Parameter cost: the entry's approximate size, in bytes.
    mutating func admits(_ hash: Int64, cost: Int) -> Bool {
        if self.cost + cost <= budget || ghostSet.contains(hash) || index[hash] != nil { return true }
        remember(hash)
        return false
    }

    /// Inserts an entry. It replaces the entry with the same hash.
    ///
    /// - Parameter gone: receives the evicted entries, which the caller releases outside the lock.
    /// - Returns: the generation to pass to ``grow(_:generation:by:gone:)``; `nil` if the entry is
    ///   too large.
    mutating func insert(_ hash: Int64, _ entry: MemoryEntry, cost: Int, gone: inout [MemoryEntry]) -> UInt32? {
        guard cost <= budget / 4 else {
            remove(hash, gone: &gone)
            return nil
        }
        lastGeneration &+= 1
        let place: Int32
        if let old = index[hash] {
            place = old
            let node = nodes[Int(place)]
            if let entry = node.entry { gone.append(entry) }
            if node.isMain { main.cost += cost - node.cost } else { small.cost += cost - node.cost }
        } else {
            // Make space before the entry is linked. Otherwise, the new entry would be evicted
            // first if all others were used recently.
            evict(toFit: cost, gone: &gone)
            place = freed.popLast() ?? Int32(nodes.count)
            if Int(place) == nodes.count { nodes.append(Node()) }
            index[hash] = place
            nodes[Int(place)].frequency = 0
            nodes[Int(place)].period = 0
            nodes[Int(place)].hash = hash
            link(place, isMain: ghostSet.contains(hash), cost: cost)
        }
        nodes[Int(place)].entry = entry
        nodes[Int(place)].cost = cost
        nodes[Int(place)].generation = lastGeneration
        evict(gone: &gone)
        return lastGeneration
    }

    /// Adds the bytes of a value derived from an entry.
    mutating func grow(_ hash: Int64, generation: UInt32, by bytes: Int, gone: inout [MemoryEntry]) {
        guard let place = index[hash], nodes[Int(place)].generation == generation else { return }
        nodes[Int(place)].cost += bytes
        if nodes[Int(place)].isMain { main.cost += bytes } else { small.cost += bytes }
        evict(gone: &gone)
    }

    /// Removes an entry because its stored entry changed. Reads in progress cannot insert the old
    /// entry again.
    mutating func removeChanged(_ hash: Int64, gone: inout [MemoryEntry]) {
        version &+= 1
        remove(hash, gone: &gone)
    }

    mutating func remove(_ hash: Int64, gone: inout [MemoryEntry]) {
        guard let place = index.removeValue(forKey: hash) else { return }
        unlink(place)
        free(place, gone: &gone)
    }

    /// Removes everything.
    mutating func removeAll() {
        version &+= 1
        nodes = []
        freed = []
        index = [:]
        small = Queue()
        main = Queue()
        ghosts = []
        ghostSet = []
        nextGhost = 0
    }

    // MARK: The queues

    /// - Parameter room: the number of bytes that must be free afterward.
    private mutating func evict(toFit room: Int = 0, gone: inout [MemoryEntry]) {
        while cost + room > budget {
            if small.tail >= 0, small.cost > budget / 10 || main.tail < 0 {
                evictSmall(gone: &gone)
            } else if main.tail >= 0 {
                evictMain(gone: &gone)
            } else {
                return
            }
        }
    }

    private mutating func evictSmall(gone: inout [MemoryEntry]) {
        let place = small.tail
        let node = nodes[Int(place)]
        unlink(place)
        if node.frequency > 0 {
            nodes[Int(place)].frequency = 0
            link(place, isMain: true, cost: node.cost)
        } else {
            index[node.hash] = nil
            remember(node.hash)
            free(place, gone: &gone)
        }
    }

    private mutating func evictMain(gone: inout [MemoryEntry]) {
        let place = main.tail
        let node = nodes[Int(place)]
        unlink(place)
        if node.frequency > 0 {
            nodes[Int(place)].frequency = node.frequency - 1
            link(place, isMain: true, cost: node.cost)
        } else {
            index[node.hash] = nil
            free(place, gone: &gone)
        }
    }

    private mutating func remember(_ hash: Int64) {
        if ghosts.count < ghostLimit {
            ghosts.append(hash)
        } else {
            ghostSet.remove(ghosts[nextGhost])
            ghosts[nextGhost] = hash
            nextGhost = (nextGhost + 1) % ghostLimit
        }
        ghostSet.insert(hash)
    }

    private mutating func free(_ place: Int32, gone: inout [MemoryEntry]) {
        if let entry = nodes[Int(place)].entry { gone.append(entry) }
        nodes[Int(place)].entry = nil
        freed.append(place)
    }

    private mutating func link(_ place: Int32, isMain: Bool, cost: Int) {
        nodes[Int(place)].isMain = isMain
        nodes[Int(place)].cost = cost
        var queue = isMain ? main : small
        nodes[Int(place)].previous = -1
        nodes[Int(place)].next = queue.head
        if queue.head >= 0 { nodes[Int(queue.head)].previous = place } else { queue.tail = place }
        queue.head = place
        queue.cost += cost
        if isMain { main = queue } else { small = queue }
    }

    private mutating func unlink(_ place: Int32) {
        let node = nodes[Int(place)]
        var queue = node.isMain ? main : small
        if node.previous >= 0 { nodes[Int(node.previous)].next = node.next } else { queue.head = node.next }
        if node.next >= 0 { nodes[Int(node.next)].previous = node.previous } else { queue.tail = node.previous }
        queue.cost -= node.cost
        if node.isMain { main = queue } else { small = queue }
    }
}
