public import HTTPCache
public import HTTPCacheSemantics

/// Things with ids that an API gives out many at a time, and that are stored one by one: how they
/// are named in the store, how long they are live, and how the missing ones are asked for.
///
/// ```swift
/// let users = ObjectBatch<String, User>(key: { "user/\($0)" }, expiry: .after(.seconds(3600))) { ids in
///     UsersEndpoint(ids: ids)                        // answers with [User]
/// } values: { users in
///     Dictionary(users.map { ($0.id, $0) }) { $1 }
/// }
/// let answer = try await client.fetch(["7", "8", "9"], of: users)
/// ```
public struct ObjectBatch<ID: Hashable & Sendable, Value: Codable & Sendable>: Sendable {
    /// The key of a thing in the store: see `CacheManager.setObject(_:forKey:expiry:coder:)`.
    public var key: @Sendable (ID) -> String
    /// How long a thing is live after it came.
    public var expiry: Expiry
    /// Asks for some things; it is called once for all that are missing. What the origin does not
    /// have is not in its answer.
    public var ask: @Sendable (_ missing: [ID], _ client: CachingClient) async throws -> [ID: Value]

    /// A batch whose missing things are asked for by a closure.
    public init(
        key: @escaping @Sendable (ID) -> String,
        expiry: Expiry,
        ask: @escaping @Sendable (_ missing: [ID], _ client: CachingClient) async throws -> [ID: Value]
    ) {
        self.key = key
        self.expiry = expiry
        self.ask = ask
    }

    /// A batch whose missing things are asked for by one endpoint.
    ///
    /// The whole answer is not stored, and nothing stored is used for it.
    /// - Parameter values: takes the answer apart.
    public init<E: Endpoint>(
        key: @escaping @Sendable (ID) -> String,
        expiry: Expiry,
        endpoint: @escaping @Sendable (_ missing: [ID]) -> E,
        values: @escaping @Sendable (E.Response) throws -> [ID: Value]
    ) {
        self.init(key: key, expiry: expiry) { missing, client in
            // What comes is stored, so it must be the origin's.
            let call = endpoint(missing).on(client).map(values).with { $0.takesSubstitutes = false }
            return try await call.fetch(.networkOnly).value
        }
    }
}

/// What is there of a batch that was asked for.
public struct BatchResponse<ID: Hashable & Sendable, Value: Sendable>: Sendable {
    /// One thing.
    public struct Item: Sendable {
        /// The thing.
        public var value: Value
        /// Where it comes from.
        public var source: CacheResponse.Source
        /// It has expired, and stands in for what the origin could not be asked for.
        public var isStale: Bool
    }

    /// The things, by their ids.
    public var items: [ID: Item]
    /// The ids that have none, each once, in the order in which they were asked for.
    public var missing: [ID]
    /// Why the origin did not answer, where it was asked. Without it, what is missing is what the
    /// origin does not have.
    public var failure: HoldfastError?

    /// The thing with an id.
    public subscript(_ id: ID) -> Value? { items[id]?.value }
}
