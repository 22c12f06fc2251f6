import Synchronization

/// Tells one listener that a journal has grown.
package final class AdditionSignal: Sendable {
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    package init() {}

    /// The stream of the only listener: see ``InvalidationLog/additions()``.
    package func listen() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let earlier = listener.withLock { listener in
            defer { listener = continuation }
            return listener
        }
        // Outside the lock: the end of a stream runs foreign code.
        earlier?.finish()
        return stream
    }

    package func send() { listener.withLock { $0 }?.yield() }
}
