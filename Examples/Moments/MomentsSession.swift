public import Holdfast

/// What executes requests. The repository knows nothing else of networks and stores, so that a
/// test, or an app that wants to watch or to limit what is asked, puts its own in the place of a
/// client.
public protocol MomentsSession: Sendable {
    /// What is stored first, then what the network answers.
    func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value>
    /// One value, by the rules of HTTP: what is stored and fresh, else the network's, else what is
    /// stored and stale.
    ///
    /// - Throws: `HoldfastError`.
    func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value>
    /// Something that only the network can answer: a change.
    ///
    /// - Throws: `HoldfastError`.
    func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value
}

extension CachingClient: MomentsSession {
    /// From the client's store, then from the network.
    public func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value> {
        call.on(self).cache.request()
    }

    /// By the endpoint's own strategy, which is that of HTTP unless it says otherwise.
    public func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value> {
        try await call.on(self).cache.fetch()
    }

    /// Past the store.
    public func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value {
        try await call.on(self).fetch().value
    }
}
