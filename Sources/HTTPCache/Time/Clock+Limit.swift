extension Clock where Duration == Swift.Duration {
    /// Runs an operation for a limited time, then cancels it.
    ///
    /// - Parameter onTimeout: called when the time is up, before the operation is canceled.
    /// - Returns: the operation's value, even if it arrived at the moment the time was up; `nil` if
    ///   the operation returned no value in time.
    func limit<Value: Sendable>(
        _ time: Swift.Duration,
        onTimeout: () -> Void = {},
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await self.sleep(for: time)
                return nil
            }
            var result = await group.nextResult()
            if case .success(nil) = result { onTimeout() }
            group.cancelAll()
            while let late = await group.nextResult() {
                if case .success(.some) = late { result = late }
            }
            return try result?.get() ?? nil
        }
    }
}
