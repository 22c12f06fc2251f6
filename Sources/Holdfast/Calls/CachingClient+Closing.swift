import HTTPCache
import HoldfastContent
import OfflineStore

extension CachingClient {
    /// Runs a call in its own task, which ``close()`` ends.
    ///
    /// The caller's task cannot be ended, because it belongs to the caller. The call does all its
    /// waiting in its own task (for a permit, a plugin, the delay before a retry, the network, or
    /// the rest of a body), so each wait ends with that task.
    ///
    /// - Parameters:
    ///   - target: the name of the call in the error.
    ///   - executor: where the task runs.
    /// - Throws: the error of `body`; `HoldfastError` with code `closed` if the client is closed
    ///   while the call runs.
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
    /// Prepares a call for a store lookup. If a plugin has to wait, closing the client ends the
    /// wait.
    func prepareLookup<Value: Sendable>(_ call: Call<Value>) async throws -> PreparedCall {
        if plugins.and(call.options.plugins).preparing.isEmpty { return try await prepare(call, for: .lookup) }
        return try await untilClosed(call.name) { try await self.prepare(call, for: .lookup) }
    }
}

extension HoldfastError {
    /// Creates the error of a call that did not end before its client was closed.
    fileprivate init(closing target: String, cause: any Error) {
        self.init(
            code: .closed,
            message: "The client was closed before the call for '\(target)' ended. Open a client to call again.",
            cause: (cause as? HoldfastError)?.cause
        )
    }
}

extension Error {
    /// Whether closing the client may have caused the error. A response that arrived, or a limit
    /// that was reached, has its own error.
    fileprivate var mayComeFromClosing: Bool {
        switch self {
        case is HoldfastError, is CancellationError, is ExchangeError, is TransportError, is BodyStreamError:
            let codes: [HoldfastError.Code] = [
                .cancelled, .closed, .transportFailed, .truncated, .originUnreachable, .overloaded,
            ]
            return codes.contains(HoldfastError(self, target: "").code)
        case let error as StoreError: return error.code == .closed
        default: return false
        }
    }
}
