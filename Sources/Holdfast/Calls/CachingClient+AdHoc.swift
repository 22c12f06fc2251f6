public import HTTPTypes
public import HoldfastContent

/// Requests without an endpoint type: a URL, and the type that its response decodes to.
///
/// The URL is absolute, or a path relative to the client's environment. If it is invalid, the
/// request fails with code `invalidURL` or `urlMissing`. Pass user input in `query`, which is
/// encoded. ``AdHocRequest`` has all other settings of an endpoint.
extension CachingClient {
    /// Fetches one value according to RFC 9111: a fresh stored value, otherwise the network's.
    ///
    /// ```swift
    /// let feed = try await client.get("https://api.example.com/feed", as: Feed.self).value
    /// ```
    ///
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    public func get<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        query: RequestParameters = [:],
        headers: HTTPFields = [:],
        _ strategy: SingleValueStrategy? = nil
    ) async throws(HoldfastError) -> Emission<Value> {
        try await fetch(AdHocRequest<Value>(url, query: query, headers: headers), strategy)
    }

    /// Emits the stored value first, then the network's; see ``startWith(_:ifNetworkFails:)``.
    ///
    /// ```swift
    /// for try await emission in client.startWith("https://api.example.com/feed", as: Feed.self) {
    ///     print(emission.source, emission.value)
    /// }
    /// ```
    public func startWith<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        query: RequestParameters = [:],
        headers: HTTPFields = [:],
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<Value> {
        startWith(AdHocRequest<Value>(url, query: query, headers: headers), ifNetworkFails: failure)
    }

    /// Passes the stored value to a separate closure, and the network's value to the request's own;
    /// see ``onCache(_:ifNetworkFails:_:)``.
    ///
    /// - Parameter onStored: called at most once, before the network's value.
    public func onCache<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type,
        query: RequestParameters = [:],
        headers: HTTPFields = [:],
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<Value>) -> Void
    ) -> OnCache<Value> {
        onCache(AdHocRequest<Value>(url, query: query, headers: headers), ifNetworkFails: failure, onStored)
    }

    /// Sends a value as JSON in a POST request. It is a mutation: it is never served from the
    /// store, and a ``RetryPlan`` retries it only after `HoldfastError.Code.overloaded`.
    ///
    /// ```swift
    /// let moment = try await client.post("https://a.example/moments", draft, as: Moment.self)
    /// ```
    ///
    /// - Parameter type: the type that the response decodes to. By default, its content is ignored.
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    @discardableResult
    public func post<Value: Decodable & Sendable>(
        _ url: String,
        _ content: any Encodable & Sendable,
        as type: Value.Type = NoContent.self,
        headers: HTTPFields = [:]
    ) async throws(HoldfastError) -> Emission<Value> {
        try await fetch(AdHocRequest<Value>(url, method: .post, task: .encodable(content), headers: headers))
    }

    /// Sends a value as JSON in a PUT request; see ``post(_:_:as:headers:)``.
    @discardableResult
    public func put<Value: Decodable & Sendable>(
        _ url: String,
        _ content: any Encodable & Sendable,
        as type: Value.Type = NoContent.self,
        headers: HTTPFields = [:]
    ) async throws(HoldfastError) -> Emission<Value> {
        try await fetch(AdHocRequest<Value>(url, method: .put, task: .encodable(content), headers: headers))
    }

    /// Sends a value as JSON in a PATCH request; see ``post(_:_:as:headers:)``.
    @discardableResult
    public func patch<Value: Decodable & Sendable>(
        _ url: String,
        _ content: any Encodable & Sendable,
        as type: Value.Type = NoContent.self,
        headers: HTTPFields = [:]
    ) async throws(HoldfastError) -> Emission<Value> {
        try await fetch(AdHocRequest<Value>(url, method: .patch, task: .encodable(content), headers: headers))
    }

    /// Sends a DELETE request without content; see ``post(_:_:as:headers:)``.
    @discardableResult
    public func delete<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type = NoContent.self,
        query: RequestParameters = [:],
        headers: HTTPFields = [:]
    ) async throws(HoldfastError) -> Emission<Value> {
        try await fetch(AdHocRequest<Value>(url, method: .delete, task: .query(query), headers: headers))
    }
}
