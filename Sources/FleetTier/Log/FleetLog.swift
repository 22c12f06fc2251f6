package import HTTPCache

/// The log of invalidations that the nodes of a fleet share. Any node may lose contact with the
/// server that holds the log.
///
/// After a failover, a flush or a trim, the server may have lost acknowledged entries, but never
/// silently: each server that takes over the log begins its own epoch, and the epoch's marker names
/// the last entry that the server inherited. `FleetLogContract` (Tests/FleetTesting) tests these
/// rules for every implementation.
///
/// Every call has a deadline and never waits past it. After ``FleetLogError/timedOut`` or
/// ``FleetLogError/unreachable``, a write may still have taken effect.
package protocol FleetLog: Sendable {
    /// Returns the current time on the server's clock.
    func time(within limit: Duration) async throws(FleetLogError) -> EngineTime

    /// Returns the server's current epoch, or begins the offered epoch, so that the server has its
    /// own epoch.
    ///
    /// A new epoch begins if the server has changed, if it has lost the log, or if the caller knows
    /// of a higher epoch. Call this after each connection and each ``FleetLogError/wrongEpoch``.
    ///
    /// - Throws: ``FleetLogError/lowEpoch(_:)`` if the candidate is not higher than every known
    ///   epoch.
    func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch

    /// Returns the current epoch; `nil` if this server has not begun one.
    func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch?

    /// Appends entries to the log, in order. A purge that is already in the log is not added again.
    ///
    /// - Parameters:
    ///   - entries: 1 to ``NewEntry/most`` entries.
    ///   - epoch: the current epoch of the log, as far as the caller knows.
    /// - Returns: the positions of the entries, in order. A purge that was already in the log keeps
    ///   its existing position. If the server accepted only the first entries, the list is shorter,
    ///   but it has at least one position.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing is added.
    func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition]

    /// Returns entries after a position, and waits for the first entry if there is none.
    ///
    /// - Parameters:
    ///   - count: the maximum number of entries, from 1 to ``LogBatch/mostEntries``.
    ///   - wait: the time to wait for the first entry; zero returns immediately.
    ///   - limit: the time limit for the server's reply, in addition to `wait`.
    func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch

    /// Returns the entry at a position; `nil` if there is none.
    func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry?

    /// Returns the first and the last position; `nil` if the log is empty.
    func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds?

    /// Removes the oldest entries and the oldest node rows. The last entry always stays.
    func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError)

    /// Waits until replicas have everything that was written to the log before this call.
    ///
    /// - Parameters:
    ///   - count: the number of replicas to wait for.
    ///   - epoch: the epoch that the log must still be in.
    ///   - wait: the time to wait for the replicas.
    ///   - limit: the time limit for the server's reply, in addition to `wait`.
    /// - Returns: the number of replicas that have everything, which may be more or less than
    ///   `count`.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch, in which case the
    ///   writes may be lost.
    func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int

    /// Writes a node's row with the server's current time.
    ///
    /// - Parameter epoch: the epoch in which the node has read the log. If another server has taken
    ///   over the log, contact with the previous server does not count.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing is written.
    func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(FleetLogError)

    /// Writes other nodes' rows without changing their times.
    ///
    /// A row is written only if the existing row matches the expected row, so no concurrent report
    /// is overwritten.
    ///
    /// - Parameter changes: 1 to ``NodeRowChange/most`` changes.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing is written.
    func amend(_ changes: [NodeRowChange], in epoch: UInt64, within limit: Duration) async throws(FleetLogError)

    /// Returns the rows of all nodes, sorted by name. Unreadable rows are omitted.
    func nodes(within limit: Duration) async throws(FleetLogError) -> [NodeRow]
}

extension FleetLog {
    /// Publishes one entry.
    package func append(
        _ sealed: [UInt8],
        purge: PurgeID,
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> LogPosition {
        let entry = NewEntry(purge: purge, sealed: sealed)
        guard let position = try await append([entry], in: epoch, within: limit).first else {
            throw .malformed("a position")
        }
        return position
    }

    /// Begins an epoch whose number is derived from the server's time. If that number is too low,
    /// tries again with a higher number.
    ///
    /// - Parameter highestKnown: the highest epoch that the node has seen.
    package func begin(
        knowing highestKnown: UInt64,
        using generator: inout some RandomNumberGenerator,
        within limit: Duration
    ) async throws(FleetLogError) -> LogEpoch {
        let time = try await time(within: limit)
        var higher: UInt64 = 0
        // Another node may begin an epoch between two attempts, but not on every attempt.
        for _ in 0..<4 {
            guard let offer = EpochOffer(above: highestKnown, exceeding: higher, at: time, using: &generator) else {
                throw .malformed("an epoch that no other can exceed")
            }
            do throws(FleetLogError) {
                return try await begin(offer, within: limit)
            } catch .lowEpoch(let present) {
                higher = present
            }
        }
        throw .lowEpoch(higher)
    }
}
