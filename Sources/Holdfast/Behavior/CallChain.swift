/// Calls in sequence: each call is made from the previous call's value. The chain runs on demand.
///
/// ```swift
/// let avatar = GitHub.user("octocat").cache.map(User.self)
///     .then { user in Image(user.avatar).cache }
/// let image = try await avatar.on(client).fetch().value
/// ```
///
/// A call without its own client runs on the chain's client: the client of ``on(_:)``, otherwise
/// the first call's client, otherwise ``CachingClient/current``.
public struct CallChain<Value: Sendable>: Sendable {
    private let client: CachingClient?
    private let runOnce: @Sendable (CachingClient?) async throws -> Emission<Value>
    private let stream: @Sendable (CachingClient?) -> EmissionStream<Value>

    fileprivate init<First: Sendable>(
        _ first: Call<First>,
        _ next: @escaping @Sendable (First) async throws -> Call<Value>
    ) {
        client = first.client
        runOnce = { client in
            try await next(first.running(on: client).fetch().value).running(on: client).fetch()
        }
        stream = { client in
            first.running(on: client).request().flatMap { try await next($0).running(on: client) }
        }
    }

    fileprivate init<First: Sendable>(
        _ first: CallChain<First>,
        _ next: @escaping @Sendable (First) async throws -> Call<Value>
    ) {
        client = first.client
        runOnce = { client in try await next(first.runOnce(client).value).running(on: client).fetch() }
        stream = { client in first.stream(client).flatMap { try await next($0).running(on: client) } }
    }

    private init(_ other: CallChain, on client: CachingClient) {
        self.client = client
        runOnce = other.runOnce
        stream = other.stream
    }

    /// Returns the chain with a client for all calls that do not have their own.
    public func on(_ client: CachingClient) -> CallChain { CallChain(self, on: client) }

    /// Returns the chain extended by a call that is made from the chain's value.
    public func then<Other: Sendable>(
        _ next: @escaping @Sendable (Value) async throws -> Call<Other>
    ) -> CallChain<Other> {
        CallChain<Other>(self, next)
    }

    /// Returns the last call's value. Each call uses its endpoint's strategy; the first failure
    /// ends the chain.
    ///
    /// - Throws: `HoldfastError`; `CancellationError` if the calling task is canceled; any error
    ///   of the closures.
    public func fetch() async throws -> Emission<Value> { try await runOnce(client ?? CachingClient.current) }

    /// Returns the last call's value for each emission of the first: two values if the first call
    /// emits the stored value and then the network's.
    public func request() -> EmissionStream<Value> { stream(client ?? CachingClient.current) }
}

extension Call {
    /// Returns a chain of this call and a call that is made from its value.
    public func then<Other: Sendable>(
        _ next: @escaping @Sendable (Value) async throws -> Call<Other>
    ) -> CallChain<Other> {
        CallChain(self, next)
    }

    /// Returns the call on its own client, or on `client` if it has none.
    fileprivate func running(on client: CachingClient?) -> Call {
        guard self.client == nil, let client else { return self }
        return on(client)
    }
}
