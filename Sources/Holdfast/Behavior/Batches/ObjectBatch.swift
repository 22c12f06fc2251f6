public import HTTPCache
public import HTTPCacheSemantics
public import HoldfastContent

/// A kind of item that an API returns several at a time, and that is stored item by item. The batch
/// defines the items' keys in the store, their lifetime, and how missing items are fetched.
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
    /// The lifetime of an item after it is received.
    public var expiry: Expiry
    /// Fetches items. It is called once for all missing items. Its result omits items that the
    /// origin does not have.
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
    /// - Parameter values: returns a response's items, by id.
    public init<E: Endpoint>(
        key: @escaping @Sendable (ID) -> String,
        expiry: Expiry,
        endpoint: @escaping @Sendable (_ missing: [ID]) -> E,
        values: @escaping @Sendable (E.Response) throws -> [ID: Value]
    ) {
        self.init(key: key, expiry: expiry) { missing, client in
            // The items are stored, so they must come from the origin and not from a substitute.
            let call = endpoint(missing).on(client).map(values).with { $0.takesSubstitutes = false }
            return try await client.deliver(call, .networkOnly).emission.value
        }
    }
}

/// The available items of a requested batch.
public struct BatchResponse<ID: Hashable & Sendable, Value: Sendable>: Sendable {
    /// One item.
    public struct Item: Sendable {
        /// The item's value.
        public var value: Value
        /// Where the item comes from.
        public var source: CacheResponse.Source
        /// Whether the item has expired. An expired item is returned only if the origin was not
        /// contacted, did not respond or failed (5xx).
        public var isStale: Bool
    }

    /// The items, by id.
    public var items: [ID: Item]
    /// The requested ids without an item, in the order of the request and without duplicates.
    public var missing: [ID]
    /// The reason that the items that are ``missing`` or stale were not fetched, with code
    /// `offlineMiss` if the mode forbids network use. If `nil`, the origin does not have the
    /// missing items.
    public var failure: HoldfastError?

    /// Returns the value of the item with an id.
    public subscript(_ id: ID) -> Value? { items[id]?.value }
}
