import NIOCore

/// The requests to one origin that are in progress or waiting for a permit. Decides which request
/// is next. A pure value: the registry holds the continuations.
///
/// * The number of requests in progress never exceeds the limit.
/// * A client that holds a quarter of the permits gets no more while another client waits. It never
///   gets the last quarter (``ClientShare``), so a single client always leaves permits for others,
///   however slow its requests are.
/// * Waiting clients take turns, regardless of their number of requests. docs/decisions/0025
package struct OriginPermits: Sendable {
    package enum Entrance: Sendable, Hashable {
        case entered, waits
        /// Too many requests are already waiting.
        case full
    }

    private var held: [RequestClient: Int] = [:]
    private var queues: [RequestClient: CircularBuffer<UInt64>] = [:]
    /// Waiting clients, each once, in the order in which they will be served.
    private var turns = CircularBuffer<RequestClient>()
    private var waiters: [UInt64: RequestClient] = [:]
    /// The number of requests in progress.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 && waiters.isEmpty }
    package var waitingCount: Int { waiters.count }

    /// Returns the number of permits that a client holds.
    package func count(of client: RequestClient) -> Int { held[client] ?? 0 }

    // MARK: Events

    /// Takes a permit if the client may have one now.
    package mutating func enterIfFree(_ client: RequestClient, limit: Int) -> Bool {
        // Waiting clients could not have used this permit, because a returned permit is handed over
        // directly to a waiter that may have it.
        guard Self.mayTake(client, holding: count(of: client), of: count, limit: limit) else { return false }
        take(client)
        return true
    }

    /// Takes a permit, or waits for one.
    ///
    /// - Parameter id: identifies the waiter.
    package mutating func enter(
        _ id: UInt64,
        _ client: RequestClient,
        limit: Int,
        waitingLimit: Int
    ) -> Entrance {
        if enterIfFree(client, limit: limit) { return .entered }
        let waiting = queues[client]?.count ?? 0
        guard Self.mayTake(client, holding: waiting, of: waiters.count, limit: waitingLimit) else { return .full }
        waiters[id] = client
        queues[client, default: CircularBuffer()].append(id)
        if waiting == 0 { turns.append(client) }
        return .waits
    }

    /// Returns a permit.
    ///
    /// - Returns: the waiters that have a permit now: at most one, unless the limit was raised.
    package mutating func leave(_ client: RequestClient, limit: Int) -> [UInt64] {
        count -= 1
        if client != .none, let permits = held[client] { held[client] = permits > 1 ? permits - 1 : nil }
        return waiters.isEmpty ? [] : admit(limit: limit)
    }

    /// Gives free permits to the waiters whose turn it is.
    package mutating func admit(limit: Int) -> [UInt64] {
        var admitted: [UInt64] = []
        while let next = nextTurn(limit: limit) {
            let client = turns.remove(at: next)
            guard let id = queues[client]?.popFirst() else { continue }
            if queues[client]?.isEmpty == true { queues[client] = nil } else { turns.append(client) }
            waiters[id] = nil
            take(client)
            admitted.append(id)
        }
        return admitted
    }

    /// Removes a waiter that gave up.
    ///
    /// - Returns: whether the waiter was still waiting.
    package mutating func giveUp(_ id: UInt64) -> Bool {
        guard let client = waiters.removeValue(forKey: id) else { return false }
        // Usually the longest waiters give up first.
        if let index = queues[client]?.firstIndex(of: id) { queues[client]?.remove(at: index) }
        if queues[client]?.isEmpty == true {
            queues[client] = nil
            if let index = turns.firstIndex(of: client) { turns.remove(at: index) }
        }
        return true
    }

    // MARK: Decisions

    private mutating func take(_ client: RequestClient) {
        count += 1
        if client != .none { held[client, default: 0] += 1 }
    }

    /// Returns the position of the first client in turn that may have a permit. Skips only a few
    /// clients, because few can hold a quarter.
    private func nextTurn(limit: Int) -> CircularBuffer<RequestClient>.Index? {
        guard count < limit else { return nil }
        return turns.firstIndex { $0 == .none || count(of: $0) < ClientShare.quarter(of: limit) }
            ?? turns.firstIndex { Self.mayTake($0, holding: count(of: $0), of: count, limit: limit) }
    }

    /// Returns whether a client may take one more permit.
    private static func mayTake(_ client: RequestClient, holding: Int, of taken: Int, limit: Int) -> Bool {
        client == .none ? taken < limit : ClientShare.mayTake(holding: holding, of: taken, limit: limit)
    }
}
