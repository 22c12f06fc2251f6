public import HTTPCache
public import HTTPCacheSemantics

/// Items with ids that an API returns many at a time, and that are stored one by one. It states
/// their keys in the store, how long they are live, and how missing ones are fetched.
///
/// ```swift
/// let users = ObjectBatch<String, User>(
///     key: { "user/\($0)" },
///     expiry: .after(.seconds(3600))
/// ) { ids in
///     UsersEndpoint(ids: ids)  // returns [User]
/// } values: { users in
///     Dictionary(users.map { ($0.id, $0) }) { $1 }
/// }
/// let response = try await client.fetch(["7", "8", "9"], of: users)
/// ```
public struct ObjectBatch<ID: Hashable & Sendable, Value: Codable & Sendable>: Sendable {
    /// Returns the key of an item in the store: see
    /// `CacheManager.setObject(_:forKey:expiry:coder:)`.
    public var key: @Sendable (ID) -> String
    /// How long an item is live after it came.
    public var expiry: Expiry
    /// Fetches items. It is called once for all missing ones. An item that the origin does not have
    /// is not in its result.
    public var fetch: @Sendable (_ missing: [ID], _ client: CachingClient) async throws -> [ID: Value]

    /// Creates a batch whose missing items are fetched by a closure.
    public init(
        key: @escaping @Sendable (ID) -> String,
        expiry: Expiry,
        fetch: @escaping @Sendable (_ missing: [ID], _ client: CachingClient) async throws -> [ID: Value]
    ) {
        self.key = key
        self.expiry = expiry
        self.fetch = fetch
    }

    /// Creates a batch whose missing items are fetched by one endpoint.
    ///
    /// The response as a whole is neither stored nor read from the store.
    /// - Parameter values: returns the items of a response, by their ids.
    public init<E: Endpoint>(
        key: @escaping @Sendable (ID) -> String,
        expiry: Expiry,
        endpoint: @escaping @Sendable (_ missing: [ID]) -> E,
        values: @escaping @Sendable (E.Response) throws -> [ID: Value]
    ) {
        self.init(key: key, expiry: expiry) { missing, client in
            // The items are stored, so they must be the origin's.
            let call = endpoint(missing).on(client).map(values).with { $0.takesSubstitutes = false }
            return try await client.deliver(call, .networkOnly).emission.value
        }
    }
}

/// The items that were available of a requested batch.
public struct BatchResponse<ID: Hashable & Sendable, Value: Sendable>: Sendable {
    /// One item.
    public struct Item: Sendable {
        /// The item's value.
        public var value: Value
        /// Where the item comes from.
        public var source: CacheResponse.Source
        /// Whether the item has expired. It is used because the origin was not contacted or did not
        /// respond.
        public var isStale: Bool
    }

    /// The items, by their ids.
    public var items: [ID: Item]
    /// The ids without an item, each once, in the order of the request.
    public var missing: [ID]
    /// Why the origin did not respond, if it was contacted. If `nil`, the origin does not have the
    /// missing items.
    public var failure: HoldfastError?

    /// Returns the value of the item with an id.
    public subscript(_ id: ID) -> Value? { items[id]?.value }
}
