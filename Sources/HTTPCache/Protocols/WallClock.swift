public import HTTPCacheSemantics

/// The source of dates and ages. It is read once per exchange, at its start, and the time is passed
/// down.
///
/// Sleeping and deadlines use `any Clock<Duration>`, because a wall clock can jump in both
/// directions.
public protocol WallClock: Sendable {
    /// Returns the current time, in milliseconds since 1970-01-01T00:00:00Z.
    func now() -> Timestamp
}
