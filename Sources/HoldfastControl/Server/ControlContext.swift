import Hummingbird
import NIOCore

/// A request's connection, and the client behind it.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Set when the client was admitted.
    var client = ControlClient(name: "", scope: .read)

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Performs an operation, and cancels it when its connection closes.
    ///
    /// The system tells of a client of the Unix socket that has left. It does not tell of one on
    /// the port, which may have closed one side alone and still wait for its response.
    static func perform<Value: Sendable>(
        until closed: EventLoopFuture<Void>,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // No child of this task, which the callback of the connection could not cancel.
        let task = Task { try await operation() }
        closed.whenComplete { _ in task.cancel() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
