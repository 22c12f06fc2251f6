extension Collection {
    /// Fetches one value of each call, a limited number of calls at a time. Each call has its own
    /// result.
    ///
    /// ```swift
    /// let calls = names.map { GitHub.user($0).cache.map(User.self).on(client) }
    /// let results = try await calls.fetchEach(concurrently: 4)
    /// ```
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own by default.
    ///   - limit: the number of calls under way at a time; less than 1 is treated as 1.
    /// - Returns: the results in the calls' order.
    /// - Throws: `CancellationError` if the calling task is cancelled; nothing else.
    public func fetchEach<Value: Sendable>(
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Result<Emission<Value>, HoldfastError>] where Element == Call<Value> {
        try await Holdfast.concurrently(Array(self), atMost: limit) { call in
            do {
                return .success(try await call.fetch(strategy))
            } catch {
                try Task.checkCancellation()
                return .failure(HoldfastError(error, target: "\(Swift.type(of: call.endpoint))"))
            }
        }
    }

    /// Fetches one value of each call, a limited number of calls at a time. If one fails, the
    /// others are cancelled.
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own by default.
    ///   - limit: the number of calls under way at a time; less than 1 is treated as 1.
    /// - Returns: the values in the calls' order.
    /// - Throws: ``HoldfastError`` of the first failure; `CancellationError` if the calling task is
    ///   cancelled.
    public func fetchAll<Value: Sendable>(
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Emission<Value>] where Element == Call<Value> {
        try await Holdfast.concurrently(Array(self), atMost: limit) { try await $0.fetch(strategy) }
    }
}
