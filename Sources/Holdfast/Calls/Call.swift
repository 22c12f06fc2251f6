import HTTPCache

/// A request that is described and not yet started: an endpoint, and the steps from its answer to a
/// value.
///
/// ```swift
/// let user = GitHub.user("octocat").cache.map(User.self).accepting([200])
/// for try await emission in user.on(client).request() { print(emission.source, emission.value) }
/// ```
///
/// It is a value: each step answers with another call, and each can be left out. Without ``cache``
/// nothing is looked up and nothing stored; without ``map(_:at:)`` the value is what the endpoint
/// says (`Data`, where it says nothing); without ``validate(_:)`` and ``accepting(_:)`` the
/// endpoint's statuses count. What is mapped and validated is so for the stored value and the
/// network's alike.
public struct Call<Value: Sendable>: Sendable {
    typealias Interpret = @Sendable (ContentReader) throws -> Value
    typealias Recall = @Sendable (DerivedValues, DecodingIdentity) -> Value?

    let endpoint: any Endpoint
    var client: CachingClient?
    /// Whether what is stored is emitted first and what comes is stored.
    var usesStore = false
    /// Counts the calls that were started; `nil` before that.
    var number: UInt64?
    /// How long the network is waited for where something is stored.
    var softTimeout: Duration?
    /// Where what is waited for runs, from the moment that it has to be.
    var lane: CallLane?
    /// See ``CallOptions``.
    public var options = CallOptions()
    /// What the content is decoded as, before any further step.
    let decoded: any (Decodable & Sendable).Type
    let interpret: Interpret
    /// The value that was made of a stored response before, where the value is nothing but the
    /// content decoded.
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

    /// The same call with another last step.
    ///
    /// - Parameter type: what the content is decoded as before it.
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
    /// A call whose value is the content decoded as `type`.
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
    /// This endpoint as a call that only the network answers: the beginning of a chain of steps.
    public var call: Call<Response> { Call(self, as: Response.self) }

    /// With what is stored first: `GitHub.user("x").cache.request()`.
    public var cache: Call<Response> { call.cache }

    /// With a client to run on, instead of ``CachingClient/current``.
    public func on(_ client: CachingClient) -> Call<Response> { call.on(client) }

    /// With its content decoded as another type.
    public func map<Model: Decodable & Sendable>(_ type: Model.Type, at path: ValuePath? = nil) -> Call<Model> {
        call.map(type, at: path)
    }

    /// The stored value to a closure of its own, the network's to the request's.
    ///
    /// - Parameter path: where in the content the value stands, in place of the endpoint's.
    public func onCache<Model: Decodable & Sendable>(
        _ type: Model.Type,
        at path: ValuePath? = nil,
        _ onStored: @escaping @Sendable (Emission<Model>) -> Void
    ) -> OnCache<Model> {
        call.map(type, at: path).onCache(onStored)
    }

    /// Starts when it is iterated or subscribed to: the network's answer, without the store.
    public func request() -> EmissionStream<Response> { call.request() }
}

extension CachingClient {
    /// A call of this client's that uses the store: the beginning of a chain of steps.
    public func call<E: Endpoint>(_ endpoint: E) -> Call<E.Response> {
        call(endpoint, as: E.Response.self)
    }

    /// A call of this client's, with a type that it names.
    public func call<Value: Decodable & Sendable>(_ endpoint: some Endpoint, as type: Value.Type) -> Call<Value> {
        Call(endpoint, as: type, client: self, usesStore: true)
    }

    /// The client of the current task, for calls that were passed none.
    ///
    /// ```swift
    /// try await CachingClient.$current.withValue(client) { try await GitHub.user("octocat").cache.fetch() }
    /// ```
    @TaskLocal public static var current: CachingClient?
}
