import Hummingbird
import NIOCore

/// A request's connection, and the client behind it.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// Set when the client is admitted.
    var client = ControlClient(name: "", scope: .read)

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Performs an operation, and cancels it when its connection closes.
    ///
    /// The system reports when a client of the Unix socket has disconnected. It does not report
    /// this for a client on the port, which may have closed only its sending side and still wait
    /// for its response.
    static func perform<Value: Sendable>(
        until closed: EventLoopFuture<Void>,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // Not a child of this task, because the connection's callback could not cancel a child.
        let task = Task { try await operation() }
        closed.whenComplete { _ in task.cancel() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
