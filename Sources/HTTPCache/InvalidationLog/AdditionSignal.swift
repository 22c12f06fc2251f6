import Synchronization

/// Tells one listener that a journal has grown.
package final class AdditionSignal: Sendable {
    private let sent = Atomic<UInt64>(0)
    private let listener = Mutex<AsyncStream<Void>.Continuation?>(nil)

    package init() {}

    /// Returns the stream of the only listener: see ``InvalidationLog/additions()``.
    package func listen() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let earlier = listener.withLock { listener in
            defer { listener = continuation }
            return listener
        }
        // Finish the stream outside the lock, because that runs external code.
        earlier?.finish()
        return stream
    }

    /// The number of times that the journal has grown. An invalidation is counted before it becomes
    /// visible.
    package var count: UInt64 { sent.load(ordering: .acquiring) }

    /// Counts an addition and notifies the listener. Call this after an invalidation was committed
    /// and before it becomes visible.
    package func send() {
        sent.wrappingAdd(1, ordering: .acquiringAndReleasing)
        listener.withLock { $0 }?.yield()
    }
}
