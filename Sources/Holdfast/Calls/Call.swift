import HTTPCache
public import HoldfastContent

/// A request that has not started: an endpoint, and the steps that turn its response into a value.
///
/// ```swift
/// let user = GitHub.user("octocat").cache.map(User.self).accepting([200])
/// for try await emission in user.on(client).request() { print(emission.source, emission.value) }
/// ```
///
/// A call is a value: each step returns another call, and each step is optional. Without:
///
/// - ``cache``: ``request()`` neither reads nor writes the store. The strategy of
///   ``fetch(_:)-(SingleValueStrategy?)`` determines its use of the store in any case.
/// - ``map(_:at:)``: the value has the endpoint's type (`Data` by default).
/// - ``validate(_:)`` and ``accepting(_:)``: the endpoint's statuses apply.
///
/// Steps and validations apply to both the stored value and the network's.
public struct Call<Value: Sendable>: Sendable {
    typealias Interpret = @Sendable (ContentReader) throws -> Value
    typealias Recall = @Sendable (DerivedValues, DecodingIdentity) -> Value?

    let endpoint: any Endpoint
    var client: CachingClient?
    /// Whether the stored value is emitted first and the network's response is stored.
    var usesStore = false
    /// The call's number within its client; `nil` until the call starts.
    var number: UInt64?
    /// The time to wait for the network if a response is stored.
    var softTimeout: Duration?
    /// The executor of the call, starting with its first wait.
    var executor: CallExecutor?
    /// See ``CallOptions``.
    public var options = CallOptions()
    /// The type that the content is decoded as, before later steps transform the value.
    let decoded: any (Decodable & Sendable).Type
    let interpret: Interpret
    /// Finds the value that was decoded earlier from a stored response. Only for calls whose value
    /// is the decoded content, without further steps.
    let recall: Recall?

    init(
        endpoint: any Endpoint,
        client: CachingClient? = nil,
        usesStore: Bool = false,
        options: CallOptions = CallOptions(),
        decoded: any (Decodable & Sendable).Type,
        recall: Recall? = nil,
        interpret: @escaping Interpret
    ) {
        self.recall = recall
        self.decoded = decoded
        self.endpoint = endpoint
        self.client = client
        self.usesStore = usesStore
        self.options = options
        self.interpret = interpret
    }

    /// Returns the same call with another last step.
    ///
    /// - Parameter type: the type that the content is decoded as before that step.
    func interpreting<Other: Sendable>(
        _ type: any (Decodable & Sendable).Type,
        recall: Call<Other>.Recall? = nil,
        _ interpret: @escaping Call<Other>.Interpret
    ) -> Call<Other> {
        Call<Other>(
            endpoint: endpoint,
            client: client,
            usesStore: usesStore,
            options: options,
            decoded: type,
            recall: recall,
            interpret: interpret
        )
    }
}

extension Call where Value: Decodable {
    /// Creates a call whose value is the content decoded as `type`.
    init(_ endpoint: any Endpoint, as type: Value.Type, client: CachingClient? = nil, usesStore: Bool = false) {
        self.init(
            endpoint: endpoint,
            client: client,
            usesStore: usesStore,
            decoded: type,
            recall: { $0.value(type, madeBy: $1) },
            interpret: { try $0.value(type) }
        )
    }
}

extension Endpoint {
    /// This endpoint as a call without ``Call/cache``: the start of a chain of steps.
    public var call: Call<Response> { Call(self, as: Response.self) }

    /// This endpoint as a call that emits the stored value first, as in
    /// `GitHub.user("x").cache.request()`.
    public var cache: Call<Response> { call.cache }

    /// Returns a call with a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> Call<Response> { call.on(client) }

    /// Returns a call with the content decoded as another type.
    public func map<Model: Decodable & Sendable>(_ type: Model.Type, at path: ValuePath? = nil) -> Call<Model> {
        call.map(type, at: path)
    }

    /// Passes the stored value to a separate closure, and the network's value to the request's own.
    ///
    /// - Parameter path: the path of the value in the content, instead of the endpoint's path.
    public func onCache<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath? = nil,
        _ onStored: @escaping @Sendable (Emission<Model>) -> Void
    ) -> OnCache<Model> {
        call.map(type, at: path).onCache(onStored)
    }

    /// Returns a stream of the network's emission. It does not use the store. The request starts
    /// when the stream is iterated or subscribed to.
    public func request() -> EmissionStream<Response> { call.request() }
}

extension CachingClient {
    /// Returns a call of this client that uses the store: the start of a chain of steps.
    public func call<E: Endpoint>(_ endpoint: E) -> Call<E.Response> {
        call(endpoint, as: E.Response.self)
    }

    /// Returns a call of this client with an explicit type.
    public func call<Value: Decodable & Sendable>(_ endpoint: some Endpoint, as type: Value.Type) -> Call<Value> {
        Call(endpoint, as: type, client: self, usesStore: true)
    }

    /// The client of the current task. Calls without their own client use it.
    ///
    /// ```swift
    /// try await CachingClient.$current.withValue(client) {
    ///     try await GitHub.user("octocat").cache.fetch()
    /// }
    /// ```
    @TaskLocal public static var current: CachingClient?
}
