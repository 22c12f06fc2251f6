extension CachingClient {
    /// Runs a call in a task of its own, which ``close()`` ends.
    ///
    /// The caller's task cannot be ended, because it is the caller's. Whatever the call waits for
    /// (a permit, a plugin, the pause before a retry, the network, the rest of a body) is in this
    /// task, and ends with it.
    ///
    /// - Parameters:
    ///   - target: the call's subject, for the error.
    ///   - executor: where the task runs.
    /// - Throws: what `body` throws; ``HoldfastError`` with code `closed` if the client was closed
    ///   meanwhile.
    func untilClosed<Result: Sendable>(
        _ target: @autoclosure () -> String,
        on executor: CallExecutor? = nil,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task(executorPreference: executor) { try await body() }
        let member = calls.add { task.cancel() }
        defer { member?.end() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            guard calls.isCancelled, !Task.isCancelled, error.mayComeFromClosing else { throw error }
            throw HoldfastError(closing: target(), cause: error)
        }
    }
}

extension CachingClient {
    /// Prepares a call to look into the store. A plugin that waits ends with the client.
    func prepareLookup<Value: Sendable>(_ call: Call<Value>) async throws -> PreparedCall {
        if plugins.and(call.options.plugins).preparing.isEmpty { return try await prepare(call, for: .lookup) }
        return try await untilClosed(call.name) { try await self.prepare(call, for: .lookup) }
    }
}

extension HoldfastError {
    /// A call that did not end before its client was closed.
    fileprivate init(closing target: String, cause: any Error) {
        self.init(
            code: .closed,
            message: "The client was closed before the call for '\(target)' ended. Open a client to call again.",
            cause: (cause as? HoldfastError)?.cause
        )
    }
}

extension Error {
    /// Whether the end of the client can be the reason. A response that came, or a limit that was
    /// reached, is a reason of its own.
    fileprivate var mayComeFromClosing: Bool {
        guard let error = self as? HoldfastError else { return self is CancellationError }
        let codes: [HoldfastError.Code] = [
            .cancelled, .closed, .transportFailed, .truncated, .originUnreachable, .overloaded,
        ]
        return codes.contains(error.code)
    }
}
