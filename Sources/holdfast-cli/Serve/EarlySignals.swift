import LibC
import Synchronization
import UnixSignals

/// One bit for each signal that arrived early.
private let arrived = Atomic<UInt64>(0)

/// Catches a server's signals from the beginning.
///
/// A reload or a log rotation may be requested while the process starts, when the signal's default
/// action would end the process. Signals are recorded until `UnixSignalsSequence` handles signals,
/// and are then sent again. (Blocking them would not work, because Dispatch waits for signals with
/// an empty signal mask.)
enum EarlySignals {
    private static let handled: [UnixSignal] = [.sigterm, .sigint, .sighup, .sigusr1]

    /// Starts recording signals. Call this first, while there is only one thread.
    static func hold() {
        // Initialize it here, not in the signal handler.
        _ = arrived.load(ordering: .relaxed)
        for handled in handled {
            signal(handled.rawValue) { arrived.bitwiseOr(1 << UInt64($0), ordering: .relaxed) }
        }
    }

    /// Returns all signals, including the recorded ones.
    static func sequence() async -> UnixSignalsSequence {
        let signals = await UnixSignalsSequence(trapping: handled)
        let early = arrived.exchange(0, ordering: .relaxed)
        for handled in handled where early & 1 << UInt64(handled.rawValue) != 0 { kill(getpid(), handled.rawValue) }
        return signals
    }
}
