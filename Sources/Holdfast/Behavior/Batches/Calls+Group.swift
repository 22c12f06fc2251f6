import HoldfastContent

extension Collection {
    /// Fetches one value from each call, with a limited number of concurrent calls. Each call has
    /// its own result.
    ///
    /// ```swift
    /// let calls = names.map { GitHub.user($0).cache.map(User.self).on(client) }
    /// let results = try await calls.fetchEach(concurrently: 4)
    /// ```
    ///
    /// - Parameters:
    ///   - strategy: the strategy for all calls; by default, each endpoint's own.
    ///   - limit: the maximum number of concurrent calls; less than 1 is treated as 1.
    /// - Returns: the results in the calls' order.
    /// - Throws: `CancellationError` if the calling task is canceled; nothing else.
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

    /// Fetches one value from each call, with a limited number of concurrent calls. If a call
    /// fails, the other calls are canceled.
    ///
    /// - Parameters:
    ///   - strategy: the strategy for all calls; by default, each endpoint's own.
    ///   - limit: the maximum number of concurrent calls; less than 1 is treated as 1.
    /// - Returns: the values in the calls' order.
    /// - Throws: the `HoldfastError` of the first call that fails; `CancellationError` if the
    ///   calling task is canceled.
    public func fetchAll<Value: Sendable>(
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Emission<Value>] where Element == Call<Value> {
        try await Holdfast.concurrently(Array(self), atMost: limit) { try await $0.fetch(strategy) }
    }
}
