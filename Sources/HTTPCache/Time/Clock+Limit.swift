extension Clock where Duration == Swift.Duration {
    /// Performs an operation for a limited time. It is cancelled after that.
    ///
    /// - Parameter onTimeout: called when the time is over, before the operation is cancelled.
    /// - Returns: the operation's value, even if it came at the very moment at which the time was
    ///   over; `nil` if there is none.
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
