/// The operations that have a place and those that wait, in the order of arrival. ``TurnQueue``
/// acts on it.
package struct Turns: Sendable {
    /// How one that arrives is treated.
    package enum Arrival: Sendable, Hashable {
        /// It has a place, and calls ``leave()`` in the end.
        case enter
        /// It waits until ``leave()`` names it.
        case wait
        /// Too many wait.
        case isFull
        /// ``end()`` was called.
        case hasEnded
    }

    /// How many have a place at a time.
    package let places: Int
    /// The most that wait.
    package let waitingLimit: Int

    private var taken = 0
    private var waiting: [Int] = []
    private var hasEnded = false

    package init(places: Int, waitingLimit: Int) {
        self.places = places
        self.waitingLimit = waitingLimit
    }

    package mutating func arrive(_ id: Int) -> Arrival {
        if hasEnded { return .hasEnded }
        if taken < places {
            taken += 1
            return .enter
        }
        guard waiting.count < waitingLimit else { return .isFull }
        waiting.append(id)
        return .wait
    }

    /// Gives a place back.
    ///
    /// - Returns: the one that has waited longest, which has the place now.
    package mutating func leave() -> Int? {
        if waiting.isEmpty {
            taken -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// Ends the waiting of one.
    ///
    /// - Returns: whether it waited. Otherwise it has got its place meanwhile.
    package mutating func stopWaiting(_ id: Int) -> Bool {
        guard let place = waiting.firstIndex(of: id) else { return false }
        waiting.remove(at: place)
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
