import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Catches SIGINT and SIGTERM, so that the process can wait for them instead of being ended by
/// them.
final class TerminationSignals: Sendable {
    private let stream: AsyncStream<Void>
    private let sources = Mutex<[any DispatchSourceSignal]>([])

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))
        self.stream = stream
        for number in [SIGINT, SIGTERM] {
            // Otherwise, the default action would end the process before the dispatch source gets
            // the signal.
            signal(number, SIG_IGN)
            sources.withLock { sources in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { continuation.yield() }
                source.activate()
                sources.append(source)
            }
        }
    }

    deinit {
        sources.withLock { sources in
            for source in sources { source.cancel() }
        }
    }

    /// Waits for the first signal, or until the task is canceled. Returns immediately if a signal
    /// has already arrived.
    func first() async {
        for await _ in stream { return }
    }
}
