/// How much a refill of the memory reads, and how fast: see ``MemoryRefill``.
///
/// Steps are short and pauses are longer, so a refill takes at most a quarter of the time of one
/// core and one disk.
struct RefillPace: Sendable {
    /// The most rows that a step examines.
    var rows: Int64 = 16
    /// A step reads no further entry after this many bytes.
    var stepBytes: Int64 = 1 << 20
    /// The most bytes that are read in a second.
    var bytesPerSecond: Int64 = 64 << 20
    /// The length of a pause, as a multiple of the step before it.
    var rest = 3
    var shortestPause = Duration.milliseconds(1)
    /// The most rows that a refill examines.
    var mostRows: Int64 = 262_144

    /// Returns the pause after a step.
    func pause(after duration: Duration, bytes: Int64) -> Duration {
        let byRate = Duration.seconds(Double(bytes) / Double(max(1, bytesPerSecond))) - duration
        return max(duration * rest, byRate, shortestPause)
    }

    /// Returns whether a refill has read enough.
    ///
    /// - Parameters:
    ///   - resident: the bytes in the memory.
    ///   - budget: the most bytes that the memory may have.
    func isOver(rows: Int64, bytes: Int64, resident: Int, budget: Int) -> Bool {
        rows >= mostRows || bytes >= Int64(clamping: budget) || room(resident: resident, budget: budget) <= 0
    }

    /// Returns the bytes that a refill may still add. An eighth of the memory is left to requests.
    ///
    /// A step must not add more: the memory would evict entries that were read first, which are the
    /// ones used last.
    func room(resident: Int, budget: Int) -> Int64 { Int64(clamping: budget / 8 * 7 - resident) }
}
