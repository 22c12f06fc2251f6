/// The entries of a cache, in one queue for each step of worth (``EntryWorth``), oldest first.
///
/// When an entry enters a queue, it gets the present level, and it is due when the level has risen
/// by its worth. All entries of a queue have equal worth, so the oldest is due first, and the entry
/// that is due first of all is the oldest of some queue. Evicting it raises the level. This is
/// GDSF without a heap.
struct EntryQueues: Sendable {
    struct Node {
        var key: Int64 = 0
        var size = 0
        /// The level at which it entered its queue.
        var level = 0.0
        /// The uses that count for its queue.
        var uses: Float = 0
        var lastUse: UInt32 = 0
        var newer: Int32 = -1
        var older: Int32 = -1
        /// The uses since it entered its queue.
        var newUses: UInt8 = 0
        var step: UInt8 = 0
        var cost = MissCost.usual
    }

    private struct Queue {
        var newest: Int32 = -1
        var oldest: Int32 = -1
    }

    private var nodes: [Node] = []
    private var freed: [Int32] = []
    private var queues = [Queue](repeating: Queue(), count: EntryWorth.stepCount)
    /// The level at which the oldest entry of each queue is due.
    private var due = [Double](repeating: .infinity, count: EntryWorth.stepCount)
    private var level = 0.0
    private(set) var bytes = 0

    /// Records a use.
    ///
    /// - Parameter highest: the most uses that count.
    /// - Returns: the entry's size, and the time of its last use.
    mutating func use(_ slot: Int32, now: UInt32, highest: UInt8) -> (size: Int, last: UInt32) {
        let place = Int(slot)
        let last = nodes[place].lastUse
        nodes[place].lastUse = now
        if nodes[place].newUses < highest { nodes[place].newUses += 1 }
        return (nodes[place].size, last)
    }

    mutating func add(
        _ key: Int64,
        size: Int,
        cost: MissCost,
        uses: Float,
        lastUse: UInt32,
        _ worth: EntryWorth
    ) -> Int32 {
        let slot = freed.popLast() ?? Int32(nodes.count)
        if Int(slot) == nodes.count { nodes.append(Node()) }
        nodes[Int(slot)] = Node(key: key, size: size, uses: uses, lastUse: lastUse, cost: cost)
        bytes += size
        link(slot, worth)
        return slot
    }

    /// Removes an entry. Its slot may be reused.
    mutating func remove(_ slot: Int32) -> Node {
        unlink(slot)
        freed.append(slot)
        bytes -= nodes[Int(slot)].size
        return nodes[Int(slot)]
    }

    mutating func resize(_ slot: Int32, to size: Int) {
        bytes += size - nodes[Int(slot)].size
        nodes[Int(slot)].size = size
    }

    mutating func setCost(_ slot: Int32, _ cost: MissCost, _ worth: EntryWorth) {
        guard nodes[Int(slot)].cost != cost else { return }
        unlink(slot)
        nodes[Int(slot)].cost = cost
        link(slot, worth)
    }

    /// Returns the entry to evict. Entries that are due but were used move to the end of a queue.
    mutating func leastWorthy(highest: UInt8, _ worth: EntryWorth) -> Int32? {
        while true {
            var step = 0
            for other in 1..<due.count where due[other] < due[step] { step = other }
            let slot = queues[step].oldest
            guard slot >= 0 else { return nil }
            level = max(level, due[step])
            let node = nodes[Int(slot)]
            if node.newUses == 0 { return slot }
            unlink(slot)
            nodes[Int(slot)].uses = min(Float(highest), node.uses + Float(node.newUses))
            nodes[Int(slot)].newUses = 0
            link(slot, worth)
        }
    }

    private mutating func link(_ slot: Int32, _ worth: EntryWorth) {
        let node = nodes[Int(slot)]
        let step = worth.step(uses: node.uses, size: node.size, cost: node.cost)
        let newest = queues[step].newest
        nodes[Int(slot)].step = UInt8(truncatingIfNeeded: step)
        nodes[Int(slot)].level = level
        nodes[Int(slot)].newer = -1
        nodes[Int(slot)].older = newest
        queues[step].newest = slot
        if newest >= 0 {
            nodes[Int(newest)].newer = slot
        } else {
            queues[step].oldest = slot
            due[step] = level + EntryWorth.values[step]
        }
    }

    private mutating func unlink(_ slot: Int32) {
        let node = nodes[Int(slot)]
        let step = Int(node.step)
        if node.older >= 0 { nodes[Int(node.older)].newer = node.newer }
        if node.newer >= 0 { nodes[Int(node.newer)].older = node.older } else { queues[step].newest = node.older }
        guard node.older < 0 else { return }
        queues[step].oldest = node.newer
        due[step] = node.newer >= 0 ? nodes[Int(node.newer)].level + EntryWorth.values[step] : .infinity
    }
}
