public import HTTPCache
public import HTTPCacheSemantics
import Synchronization

/// A wall clock that stands still until it is moved.
public final class ManualClock: WallClock {
    private let instant: Mutex<Timestamp>

    /// - Parameter start: 2026-01-01T00:00:00Z by default.
    public init(_ start: Timestamp = Timestamp(seconds: 1_767_225_600)) {
        instant = Mutex(start)
    }

    /// The clock's current instant.
    public func now() -> Timestamp { instant.withLock { $0 } }

    /// Moves it, backwards for a negative duration.
    public func advance(by duration: Duration) {
        instant.withLock { $0 = $0.adding(duration) }
    }

    /// Sets it.
    public func set(to instant: Timestamp) {
        self.instant.withLock { $0 = instant }
    }
}
