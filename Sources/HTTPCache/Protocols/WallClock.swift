public import HTTPCacheSemantics

/// The source of dates and ages. It is read once per exchange, at its start, and the instant is
/// passed down.
///
/// Sleeping and deadlines use `any Clock<Duration>`: a wall clock jumps, both ways.
public protocol WallClock: Sendable {
    /// The present instant, in milliseconds since 1970-01-01T00:00:00Z.
    func now() -> Timestamp
}
