public import HTTPCacheSemantics
import LibC

/// The system's real-time clock.
public struct SystemWallClock: WallClock {
    /// Creates the system's clock.
    public init() {}

    /// See ``WallClock/now()``.
    public func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
