/// The operations that have a permit and those that wait, in the order of arrival. ``Limiter``
/// acts on it.
package struct LimiterState: Sendable {
    /// How one that arrives is treated.
    package enum Arrival: Sendable, Hashable {
        /// It has a permit, and calls ``leave()`` in the end.
        case enter
        /// It waits until ``leave()`` names it.
        case wait
        /// Too many wait.
        case isFull
        /// ``end()`` was called.
        case hasEnded
    }

    /// How many have a permit at a time.
    package let permits: Int
    /// The most that wait.
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

    /// Gives a permit back.
    ///
    /// - Returns: the one that has waited longest, which has the permit now.
    package mutating func leave() -> Int? {
        if waiting.isEmpty {
            taken -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Ends the waiting of one.
    ///
    /// - Returns: whether it waited. Otherwise it has got its permit meanwhile.
    package mutating func stopWaiting(_ id: Int) -> Bool {
        guard let permit = waiting.firstIndex(of: id) else { return false }
        waiting.remove(at: permit)
        return true
    }

    /// Lets no one in from now on.
    ///
    /// - Returns: those that waited.
    package mutating func end() -> [Int] {
        hasEnded = true
        defer { waiting = [] }
        return waiting
    }
}
