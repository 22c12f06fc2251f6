extension Collection {
    /// One value of each call, so many calls at a time; each has a result of its own.
    ///
    /// ```swift
    /// let results = try await names.map { GitHub.user($0).cache.map(User.self).on(client) }.fetchEach(concurrently: 4)
    /// ```
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own unless told otherwise.
    ///   - limit: calls under way at a time; less than 1 counts as 1.
    /// - Returns: the results in the calls' order.
    /// - Throws: `CancellationError` when the calling task is cancelled; nothing else.
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

    /// One value of each call, so many calls at a time; where one fails, all do: the others are
    /// cancelled.
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own unless told otherwise.
    ///   - limit: calls under way at a time; less than 1 counts as 1.
    /// - Returns: the values in the calls' order.
    /// - Throws: ``HoldfastError`` of the first that failed; `CancellationError` when the calling
    ///   task is cancelled.
    public func fetchAll<Value: Sendable>(
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Emission<Value>] where Element == Call<Value> {
        try await Holdfast.concurrently(Array(self), atMost: limit) { try await $0.fetch(strategy) }
    }
}
