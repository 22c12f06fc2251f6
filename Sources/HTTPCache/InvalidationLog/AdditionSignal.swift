import Synchronization

/// Tells one listener that a journal has grown.
package final class AdditionSignal: Sendable {
    private let sent = Atomic<UInt64>(0)
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    package init() {}

    /// The stream of the only listener: see ``InvalidationLog/additions()``.
    package func listen() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let earlier = listener.withLock { listener in
            defer { listener = continuation }
            return listener
        }
        // Outside the lock, because the end of a stream runs foreign code.
        earlier?.finish()
        return stream
    }

    /// How often the journal has grown. An invalidation is counted before it becomes visible.
    package var count: UInt64 { sent.load(ordering: .acquiring) }

    /// Call it between the commit of an invalidation and the moment it becomes visible.
    package func send() {
        sent.wrappingAdd(1, ordering: .acquiringAndReleasing)
        listener.withLock { $0 }?.yield()
    }
}
