package import HTTPCache

/// The log of invalidations that the nodes of a fleet share, on an engine that any of them may lose
/// sight of.
///
/// The engine may forget what it acknowledged (a failover, a flush, a trim), but not without a
/// sign: each server that answers for the log begins an epoch of its own, whose marker names the
/// last entry that it inherited. `SharedLogContract` (HoldfastTesting) has the rules for all
/// implementations.
///
/// Every call has a deadline, and never waits longer. After an error of
/// ``SharedLogError/timedOut`` or ``SharedLogError/unreachable`` a write may have been performed.
package protocol SharedLog: Sendable {
    /// The instant on the engine's clock.
    func time(within limit: Duration) async throws(SharedLogError) -> EngineTime

    /// Makes sure that the server has an epoch of its own: the present one, or a new one as
    /// offered.
    ///
    /// A new one begins if the server is another one than before, if it has lost the log, or if the
    /// caller knows of a higher epoch. Call it after each connection and each
    /// ``SharedLogError/wrongEpoch``.
    ///
    /// - Throws: ``SharedLogError/lowEpoch(_:)`` if the candidate is not above everything known.
    func begin(_ offer: EpochOffer, within limit: Duration) async throws(SharedLogError) -> LogEpoch

    /// The present epoch; `nil` if this server has not begun one.
    func epoch(within limit: Duration) async throws(SharedLogError) -> LogEpoch?

    /// Publishes entries behind all others, in their order. An entry with the same purge that is
    /// still in the log is not added again.
    ///
    /// - Parameters:
    ///   - entries: from 1 to ``NewEntry/most``.
    ///   - epoch: in which the caller believes the log to be.
    /// - Returns: the places of the entries, or those of the earlier ones. There are fewer if the
    ///   engine took the first ones alone, but at least one.
    /// - Throws: ``SharedLogError/wrongEpoch`` if the log is in another one; nothing was added.
    func append(
        _ entries: [NewEntry],
        in epoch: UInt64,
        within limit: Duration
    ) async throws(SharedLogError) -> [LogPosition]

    /// Waits for entries behind a position.
    ///
    /// - Parameters:
    ///   - count: the most entries, from 1 to ``LogBatch/mostEntries``.
    ///   - wait: how long to wait for the first one; zero returns at once.
    ///   - limit: for the engine, beyond `wait`.
    func follow(
        after cursor: LogPosition,
        count: Int,
        wait: Duration,
        within limit: Duration
    ) async throws(SharedLogError) -> LogBatch

    /// The entry at a position; `nil` if it is not there.
    func entry(at position: LogPosition, within limit: Duration) async throws(SharedLogError) -> LogEntry?

    /// The first and the last position; `nil` for an empty log.
    func bounds(within limit: Duration) async throws(SharedLogError) -> LogBounds?

    /// Removes the oldest entries and rows of nodes. The last entry always stays.
    func trim(_ retention: LogRetention, within limit: Duration) async throws(SharedLogError)

    /// Waits until replicas have everything that was written in an epoch before this call.
    ///
    /// - Parameters:
    ///   - count: how many replicas to wait for.
    ///   - wait: how long to wait for them.
    ///   - limit: for the engine, beyond `wait`.
    /// - Returns: how many replicas have it; more or fewer than `count`.
    /// - Throws: ``SharedLogError/wrongEpoch`` if the log is in another one, so that what was
    ///   written may be lost.
    func confirm(
        replicas count: Int,
        in epoch: UInt64,
        wait: Duration,
        within limit: Duration
    ) async throws(SharedLogError) -> Int

    /// Writes a node's row, with the engine's time.
    ///
    /// - Parameter epoch: in which the node has read the log. The epoch of another server must not
    ///   count as contact with this one.
    /// - Throws: ``SharedLogError/wrongEpoch`` if the log is in another one; nothing was written.
    func announce(_ report: NodeReport, in epoch: UInt64, within limit: Duration) async throws(SharedLogError)

    /// Writes rows about other nodes, with the times that they have.
    ///
    /// A row is written only in the place of the expected one, so that no report is lost.
    ///
    /// - Parameter changes: from 1 to ``NodeRowChange/most``.
    /// - Throws: ``SharedLogError/wrongEpoch`` if the log is in another one; nothing was written.
    func amend(_ changes: [NodeRowChange], in epoch: UInt64, within limit: Duration) async throws(SharedLogError)

    /// The rows of all nodes, in the order of their names. Rows that cannot be read are left out.
    func nodes(within limit: Duration) async throws(SharedLogError) -> [NodeRow]
}

extension SharedLog {
    /// Publishes one entry.
    package func append(
        _ sealed: [UInt8],
        purge: PurgeID,
        in epoch: UInt64,
        within limit: Duration
    ) async throws(SharedLogError) -> LogPosition {
        let entry = NewEntry(purge: purge, sealed: sealed)
        guard let position = try await append([entry], in: epoch, within: limit).first else {
            throw .malformed("a position")
        }
        return position
    }

    /// Begins an epoch with a candidate from the engine's time, and with a higher one if that is
    /// too low.
    ///
    /// - Parameter highestKnown: the highest epoch that the node has heard of.
    package func begin(
        knowing highestKnown: UInt64,
        using generator: inout some RandomNumberGenerator,
        within limit: Duration
    ) async throws(SharedLogError) -> LogEpoch {
        let time = try await time(within: limit)
        var higher: UInt64 = 0
        // Another node may begin an epoch between two attempts, but not each time.
        for _ in 0..<4 {
            guard let offer = EpochOffer(above: highestKnown, exceeding: higher, at: time, using: &generator) else {
                throw .malformed("an epoch that no other can exceed")
            }
            do throws(SharedLogError) {
                return try await begin(offer, within: limit)
            } catch .lowEpoch(let present) {
                higher = present
            }
        }
        throw .lowEpoch(higher)
    }
}
