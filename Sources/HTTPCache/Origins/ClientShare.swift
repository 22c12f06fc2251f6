/// The rule by which clients share a limited number of permits.
///
/// The last quarter of the permits is reserved for clients that hold less than a quarter. As a
/// result, a single client always leaves permits for others, however long it keeps its own.
package enum ClientShare {
    /// Returns the number of permits that a client may hold regardless of other clients, as long as
    /// any are free.
    package static func quarter(of limit: Int) -> Int { max(1, limit / 4) }

    /// Returns whether a client may take one more permit.
    ///
    /// - Parameters:
    ///   - held: the number of permits that the client holds.
    ///   - taken: the number of permits that all clients hold.
    package static func mayTake(holding held: Int, of taken: Int, limit: Int) -> Bool {
        guard taken < limit else { return false }
        return held < quarter(of: limit) || limit - taken > limit / 4
    }
}

/// Permits that clients share as ``ClientShare`` decides. A pure value: it acts only on the events
/// it receives.
package struct ClientPermits<Client: Hashable & Sendable>: Sendable {
    private var held: [Client: Int] = [:]
    /// The number of permits in use.
    package private(set) var count = 0

    package init() {}

    /// Takes a permit if the client may have one.
    ///
    /// - Parameters:
    ///   - client: the client; `nil` for requests without a particular client, to which the shares
    ///     do not apply.
    ///   - limit: the total number of permits.
    package mutating func take(_ client: Client?, of limit: Int) -> Bool {
        let holding = client.flatMap { held[$0] } ?? 0
        let isFree =
            client == nil ? count < limit : ClientShare.mayTake(holding: holding, of: count, limit: limit)
        guard isFree else { return false }
        count += 1
        if let client { held[client] = holding + 1 }
        return true
    }

    /// Returns a permit.
    package mutating func leave(_ client: Client?) {
        count -= 1
        guard let client, let holding = held[client] else { return }
        held[client] = holding > 1 ? holding - 1 : nil
    }
}
