public import Holdfast

/// Executes requests.
///
/// The repository uses no other part of network or store. A test, or an app that wants to observe
/// or limit requests, can pass its own session instead of a client.
public protocol MomentsSession: Sendable {
    /// Emits the stored value first, and then the network's.
    func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value>
    /// One value, by the rules of HTTP: the stored one if it is fresh, otherwise the network's,
    /// otherwise the stored one although it is stale.
    ///
    /// - Throws: `HoldfastError`.
    func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value>
    /// Sends a change, which only the network can execute.
    ///
    /// - Throws: `HoldfastError`.
    func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value
}

extension CachingClient: MomentsSession {
    /// Reads the client's store, and then the network.
    public func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value> {
        call.on(self).cache.request()
    }

    /// Uses the endpoint's strategy, which by default follows HTTP.
    public func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value> {
        try await call.on(self).cache.fetch()
    }

    /// Bypasses the store.
    public func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value {
        try await call.on(self).fetch().value
    }
}
