public import HTTPCacheSemantics

/// Where dates and ages come from. Read once per exchange, at its top, and passed down.
///
/// For sleeping and deadlines there is `any Clock<Duration>`: a wall clock jumps, both ways.
public protocol WallClock: Sendable {
    /// The present instant, in milliseconds since 1970-01-01T00:00:00Z.
    func now() -> Timestamp
}
