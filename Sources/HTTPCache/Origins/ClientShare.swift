/// The rule by which clients share a limited number of permits.
///
/// The last quarter of the permits is for clients that hold less than a quarter. So one client
/// alone leaves room for others, whatever it does with its permits and however long it keeps them.
package enum ClientShare {
    /// The permits that a client may hold whatever others hold, as long as there are any.
    package static func quarter(of limit: Int) -> Int { max(1, limit / 4) }

    /// Whether a client may have one more of a limited number of permits.
    ///
    /// - Parameters:
    ///   - held: the permits that the client holds.
    ///   - taken: the permits that all clients hold together.
    package static func mayTake(holding held: Int, of taken: Int, limit: Int) -> Bool {
        guard taken < limit else { return false }
        return held < quarter(of: limit) || limit - taken > limit / 4
    }
}

/// Permits that clients share by ``ClientShare``. It is a value that only sees the events it is
/// given.
package struct ClientPermits<Client: Hashable & Sendable>: Sendable {
    private var held: [Client: Int] = [:]
    /// The permits that are taken.
    package private(set) var count = 0

    package init() {}

    /// Takes a permit if the client may have one.
    ///
    /// - Parameters:
    ///   - client: `nil` for one that is not told apart from others, and has no share.
    ///   - limit: the permits that there are.
    package mutating func take(_ client: Client?, of limit: Int) -> Bool {
        let holding = client.flatMap { held[$0] } ?? 0
        let isFree =
            client == nil ? count < limit : ClientShare.mayTake(holding: holding, of: count, limit: limit)
        guard isFree else { return false }
        count += 1
        if let client { held[client] = holding + 1 }
        return true
    }

    /// Gives a permit back.
    package mutating func leave(_ client: Client?) {
        count -= 1
        guard let client, let holding = held[client] else { return }
        held[client] = holding > 1 ? holding - 1 : nil
    }
}
