public import Holdfast

/// Executes requests.
///
/// The repository uses the network and the store only through a session. A test, or an app that
/// observes or limits requests, can pass its own session instead of a client.
public protocol MomentsSession: Sendable {
    /// Returns a stream of the stored value, and then the network's value.
    func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value>
    /// Returns one value by HTTP's rules: the stored value if it is fresh, otherwise the network's.
    /// If the network is unreachable, returns the stored value, although it is stale.
    ///
    /// - Throws: `HoldfastError`.
    func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value>
    /// Sends a change to the server.
    ///
    /// - Throws: `HoldfastError`.
    func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value
}

extension CachingClient: MomentsSession {
    /// Emits the value from the client's store, and then the network's value.
    public func emissions<Value: Sendable>(of call: Call<Value>) -> EmissionStream<Value> {
        call.on(self).cache.request()
    }

    /// Uses the endpoint's strategy, which by default follows HTTP.
    public func current<Value: Sendable>(_ call: Call<Value>) async throws -> Emission<Value> {
        try await call.on(self).cache.fetch()
    }

    /// Uses the endpoint's strategy. A mutation is never served from the store.
    public func send<Value: Sendable>(_ call: Call<Value>) async throws -> Value {
        try await call.on(self).fetch().value
    }
}
