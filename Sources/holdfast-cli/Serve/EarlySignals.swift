import Synchronization
import UnixSignals

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The bit of each signal that arrived early.
private let arrived = Atomic<UInt64>(0)

/// The signals of a server from its first moment on.
///
/// A reload or a rotation of logs may come while the process starts, when the default action of
/// the signal would end it. Until `UnixSignalsSequence` handles them, they are noted, and then
/// sent again. (To block them would not do: Dispatch waits for signals with none blocked.)
enum EarlySignals {
    private static let handled: [UnixSignal] = [.sigterm, .sigint, .sighup, .sigusr1]

    /// Notes signals from now on. Call it first, while there is one thread.
    static func hold() {
        // The handler must not be what initializes it.
        _ = arrived.load(ordering: .relaxed)
        for handled in handled {
            signal(handled.rawValue) { arrived.bitwiseOr(1 << UInt64($0), ordering: .relaxed) }
        }
    }

    /// The signals from the first on.
    static func sequence() async -> UnixSignalsSequence {
        let signals = await UnixSignalsSequence(trapping: handled)
        let early = arrived.exchange(0, ordering: .relaxed)
        for handled in handled where early & 1 << UInt64(handled.rawValue) != 0 { kill(getpid(), handled.rawValue) }
        return signals
    }
}
