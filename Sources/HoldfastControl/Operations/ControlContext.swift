import Hummingbird
import NIOCore

/// The connection and the client of a request.
struct ControlContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The client. It is set when the request is admitted.
    var client = ControlClient(name: "", scope: .read)

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Performs an operation, and cancels it when the connection closes.
    ///
    /// The kernel reports when a client of the Unix socket has disconnected. For a client on the
    /// port, it does not: the client may have closed only its sending side, and still wait for the
    /// response.
    static func perform<Value: Sendable>(
        until closed: EventLoopFuture<Void>,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // This is not a child task, because the connection's callback could not cancel a child.
        let task = Task { try await operation() }
        closed.whenComplete { _ in task.cancel() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
