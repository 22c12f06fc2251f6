package import HTTPCache

/// The log of invalidations that the nodes of a fleet share, on an engine that any node may lose
/// contact with.
///
/// The engine may forget acknowledged entries (after a failover, a flush or a trim), but never
/// silently: each server that answers for the log begins its own epoch, and the epoch's marker
/// names the last entry that it inherited. `FleetLogContract` (HoldfastTesting) has the rules for
/// all implementations.
///
/// Every call has a deadline and never waits longer. After ``FleetLogError/timedOut`` or
/// ``FleetLogError/unreachable``, a write may have taken effect.
package protocol FleetLog: Sendable {
    /// The instant on the engine's clock.
    func time(within limit: Duration) async throws(FleetLogError) -> EngineTime

    /// Makes sure that the server has its own epoch: its current one, or the offered one.
    ///
    /// A new epoch begins if the server is not the same as before, if it has lost the log, or if
    /// the caller knows of a higher epoch. Call this after each connection and each
    /// ``FleetLogError/wrongEpoch``.
    ///
    /// - Throws: ``FleetLogError/lowEpoch(_:)`` if the candidate is not above everything known.
    func begin(_ offer: EpochOffer, within limit: Duration) async throws(FleetLogError) -> LogEpoch

    /// The current epoch; `nil` if this server has not begun one.
    func epoch(within limit: Duration) async throws(FleetLogError) -> LogEpoch?

    /// Appends entries to the log, in their order. A purge that is still in the log is not added
    /// again.
    ///
    /// - Parameters:
    ///   - entries: from 1 to ``NewEntry/most``.
    ///   - epoch: the current epoch of the log, as far as the caller knows.
    /// - Returns: the positions of the entries, or of the earlier entries with the same purges.
    ///   There are fewer if the engine accepted only the first entries, but at least one.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing was added.
    func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(FleetLogError) -> [LogPosition]

    /// Waits for entries after a position.
    ///
    /// - Parameters:
    ///   - count: the maximum number of entries, from 1 to ``LogBatch/mostEntries``.
    ///   - wait: how long to wait for the first entry; zero returns immediately.
    ///   - limit: for the engine, beyond `wait`.
    func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> LogBatch

    /// The entry at a position; `nil` if there is none.
    func entry(at position: LogPosition, within limit: Duration) async throws(FleetLogError) -> LogEntry?

    /// The first and the last position; `nil` for an empty log.
    func bounds(within limit: Duration) async throws(FleetLogError) -> LogBounds?

    /// Removes the oldest entries and rows of nodes. The last entry always stays.
    func trim(_ retention: LogRetention, within limit: Duration) async throws(FleetLogError)

    /// Waits until replicas have everything that was written in an epoch before this call.
    ///
    /// - Parameters:
    ///   - count: how many replicas to wait for.
    ///   - wait: how long to wait for them.
    ///   - limit: for the engine, beyond `wait`.
    /// - Returns: how many replicas have it, which may be more or fewer than `count`.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch, in which case the
    ///   writes may be lost.
    func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(FleetLogError) -> Int

    /// Writes a node's row, with the engine's time.
    ///
    /// - Parameter epoch: the epoch in which the node has read the log. The epoch of another server
    ///   must not count as contact with this server.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing was written.
    func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(FleetLogError)

    /// Writes rows about other nodes, and keeps their times.
    ///
    /// A row is written only over the expected row, so no report is lost.
    ///
    /// - Parameter changes: from 1 to ``NodeRowChange/most``.
    /// - Throws: ``FleetLogError/wrongEpoch`` if the log is in another epoch; nothing was written.
    func amend(_ changes: [NodeRowChange], in epoch: UInt64, within limit: Duration) async throws(FleetLogError)

    /// The rows of all nodes, sorted by name. Rows that cannot be read are omitted.
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

    /// Begins an epoch with a candidate from the engine's time, or with a higher one if that is too
    /// low.
    ///
    /// - Parameter highestKnown: the highest epoch that the node has heard of.
    package func begin(
        knowing highestKnown: UInt64,
        using generator: inout some RandomNumberGenerator,
        within limit: Duration
    ) async throws(FleetLogError) -> LogEpoch {
        let time = try await time(within: limit)
        var higher: UInt64 = 0
        // Another node may begin an epoch between two attempts, but not each time.
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
