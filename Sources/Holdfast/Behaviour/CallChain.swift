/// Calls one after the other: each is made of the value of the one before it. Nothing happens
/// before it is started.
///
/// ```swift
/// let avatar = GitHub.user("octocat").cache.map(User.self).then { user in Image(user.avatar).cache }
/// let image = try await avatar.on(client).fetch().value
/// ```
///
/// A later call that was given no client runs on the first one's.
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

    /// With a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> CallChain { CallChain(self, on: client) }

    /// With a further call, made of this chain's value.
    public func then<Other: Sendable>(
        _ next: @escaping @Sendable (Value) async throws -> Call<Other>
    ) -> CallChain<Other> {
        CallChain<Other>(self, next)
    }

    /// The last call's value. Each is had by its endpoint's strategy; the first that fails ends the
    /// chain.
    ///
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled; what
    ///   the closures throw.
    public func fetch() async throws -> Emission<Value> { try await runOnce(client ?? CachingClient.current) }

    /// The last call's value for each emission of the first: twice where that emits what is stored
    /// and then what comes.
    public func request() -> EmissionStream<Value> { stream(client ?? CachingClient.current) }
}

extension Call {
    /// With a further call, made of this one's value.
    public func then<Other: Sendable>(
        _ next: @escaping @Sendable (Value) async throws -> Call<Other>
    ) -> CallChain<Other> {
        CallChain(self, next)
    }

    /// On its own client, or on another where it has none.
    fileprivate func running(on client: CachingClient?) -> Call {
        guard self.client == nil, let client else { return self }
        return on(client)
    }
}
