/// The state of a ``Limiter``: the operations that have a permit, and the operations that wait, in
/// order of arrival.
package struct LimiterState: Sendable {
    /// The treatment of an arriving operation.
    package enum Arrival: Sendable, Hashable {
        /// It has a permit, and calls ``leave()`` when it is done.
        case enter
        /// It waits until ``leave()`` returns its ID.
        case wait
        /// Too many operations are waiting.
        case isFull
        /// ``end()`` was called.
        case hasEnded
    }

    /// The maximum number of concurrent permits.
    package let permits: Int
    /// The maximum number of waiting operations.
    package let waitingLimit: Int

    private var taken = 0
    private var waiting: [Int] = []
    private var hasEnded = false

    package init(permits: Int, waitingLimit: Int) {
        self.permits = permits
        self.waitingLimit = waitingLimit
    }

    package mutating func arrive(_ id: Int) -> Arrival {
        if hasEnded { return .hasEnded }
        if taken < permits {
            taken += 1
            return .enter
        }
        guard waiting.count < waitingLimit else { return .isFull }
        waiting.append(id)
        return .wait
    }

    /// Returns a permit.
    ///
    /// - Returns: the ID of the operation that has waited longest and now has the permit.
    package mutating func leave() -> Int? {
        if waiting.isEmpty {
            taken -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Removes an operation from the queue.
    ///
    /// - Returns: whether the operation was still waiting. If not, it got its permit in the
    ///   meantime.
    package mutating func stopWaiting(_ id: Int) -> Bool {
        guard let permit = waiting.firstIndex(of: id) else { return false }
        waiting.remove(at: permit)
        return true
    }

    /// Rejects all operations from now on.
    ///
    /// - Returns: the IDs of the operations that were waiting.
    package mutating func end() -> [Int] {
        hasEnded = true
        defer { waiting = [] }
        return waiting
    }
}
