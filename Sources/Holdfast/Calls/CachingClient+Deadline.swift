import HoldfastContent

extension CachingClient {
    /// Runs `body` with a time limit. Cancels it when the limit has passed.
    ///
    /// - Throws: `HoldfastError` with code `timeout`, or the error of `body`.
    func within<Value: Sendable, Result: Sendable>(
        _ limit: Duration?,
        of call: Call<Value>,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let limit else { return try await body() }
        let sleeper = sleeper
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await sleeper.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let result = first else {
                throw HoldfastError(
                    code: .timeout,
                    message: "The call for '\(Swift.type(of: call.endpoint))' exceeded its time limit of \(limit). "
                        + "Raise 'timeout', or choose a strategy that uses the store."
                )
            }
            return result
        }
    }
}
