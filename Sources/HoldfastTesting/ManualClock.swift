public import HTTPCache
public import HTTPCacheSemantics
import Synchronization

/// A wall clock that changes only when a test moves it.
public final class ManualClock: WallClock {
    private let instant: Mutex<Timestamp>

    /// - Parameter start: the initial time; 2026-01-01T00:00:00Z by default.
    public init(_ start: Timestamp = Timestamp(seconds: 1_767_225_600)) {
        instant = Mutex(start)
    }

    /// Returns the current time.
    public func now() -> Timestamp { instant.withLock { $0 } }

    /// Moves the clock, backward for a negative duration.
    public func advance(by duration: Duration) {
        instant.withLock { $0 = $0.adding(duration) }
    }

    /// Sets the clock to a time.
    public func set(to instant: Timestamp) {
        self.instant.withLock { $0 = instant }
    }
}
