public import Metrics

/// The durations that a store counts, as histograms of seconds.
///
/// | Metric | Counts |
/// |---|---|
/// | `holdfast_store_read_duration_seconds` | reads of entries and pieces of bodies from disk |
/// | `holdfast_store_write_duration_seconds` | transactions |
/// | `holdfast_store_checkpoint_duration_seconds` | copies of the write-ahead log into the database
/// |
public struct StoreTelemetry: Sendable {
    private let reads: Timer
    private let writes: Timer
    private let checkpoints: Timer

    /// - Parameter factory: creates the series. The default is the factory of `MetricsSystem`.
    public init(factory: any MetricsFactory = MetricsSystem.factory) {
        reads = Timer(label: "holdfast_store_read_duration_seconds", factory: factory)
        writes = Timer(label: "holdfast_store_write_duration_seconds", factory: factory)
        checkpoints = Timer(label: "holdfast_store_checkpoint_duration_seconds", factory: factory)
    }

    func recordRead(since start: ContinuousClock.Instant) { Self.record(start, in: reads) }
    func recordWrite(since start: ContinuousClock.Instant) { Self.record(start, in: writes) }
    func recordCheckpoint(since start: ContinuousClock.Instant) { Self.record(start, in: checkpoints) }

    private static func record(_ start: ContinuousClock.Instant, in timer: Timer) {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
