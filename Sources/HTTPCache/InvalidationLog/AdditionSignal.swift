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
        // Outside the lock: the end of a stream runs foreign code.
        earlier?.finish()
        return stream
    }

    /// How often the journal has grown. It counts before the invalidation's caller hears of it.
    package var count: UInt64 { sent.load(ordering: .acquiring) }

    /// Counts without a signal: between the commit of an invalidation and the moment from which it
    /// is seen.
    package func note() { sent.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    package func send() {
        note()
        listener.withLock { $0 }?.yield()
    }
}
