package import HTTPCacheSemantics

/// A store's log of invalidations, for a node that shares them with other nodes.
///
/// A store that has joined a fleet log journals each invalidation that a caller requests, in the
/// transaction that puts it into effect. Therefore the invalidation and its journal entry cannot be
/// lost separately. The journal also contains other nodes' invalidations that were applied here. If
/// the fleet log loses entries, every node can publish them again.
///
/// A journaled invalidation without a position waits to be published. An invalidation with a
/// position is in the fleet log, as far as this node knows. It is dropped from the journal some
/// time after the log has confirmed it.
package protocol InvalidationLog: Sendable {
    /// The number of the last invalidation in effect here. As cheap as an atomic read.
    var current: InvalidationSequence { get }

    /// Returns a stream with an element after each commit that journaled something to publish.
    /// Several elements may be merged. A later call ends the stream of an earlier call.
    func additions() -> AsyncStream<Void>

    /// The number of additions to the journal since startup. As cheap as an atomic read. It
    /// increases before ``current`` reaches the invalidation's number, so that a response looked up
    /// under that number can be compared with the journal.
    var additionCount: UInt64 { get }

    /// Starts or continues journaling.
    ///
    /// A store that had joined a log with another name drops its journal and its position. If an
    /// earlier attempt failed, invalidations since then may be missing, so an invalidation that
    /// makes other nodes mark everything is journaled in their place.
    ///
    /// - Parameter name: the namespace of the fleet log.
    func join(_ name: String, at now: Timestamp) async throws -> LogStart

    /// Gives this node's store a new name, because another process runs on a copy of it.
    ///
    /// - Returns: the name, which outlasts this process.
    func renewNode() async throws -> PurgeID

    /// Stores notes about the other nodes, for the next ``join(_:at:)``. They are durable when this
    /// returns.
    func remember(_ notes: [UInt8]) async throws

    /// Returns the journaled invalidations that wait to be published, in order.
    ///
    /// - Throws: ``InvalidationLogError/notJoined``, like any method that needs the journal.
    func unpublished(limit: Int) async throws -> [FleetInvalidation]

    /// Returns the number of invalidations that wait to be published.
    func unpublishedCount() async throws -> Int

    /// Returns the journaled invalidations whose position in the fleet log is after the given
    /// position, in the log's order.
    ///
    /// - Parameter position: ``LogPosition/zero`` for all of them.
    func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation]

    /// Applies and journals entries of the fleet log, in one transaction with the new position. If
    /// it throws, no entry was applied.
    ///
    /// The entries are in effect when this returns, and durable after ``synchronize()``. They
    /// survive the end of the process. A power failure may undo the latest calls completely,
    /// entries and position together; the log still has those entries. A power failure never loses
    /// invalidations that a caller requested, and never makes stored data doubtful.
    ///
    /// - Returns: the number of invalidations that were new here.
    @discardableResult
    func append(_ steps: [LogStep], through place: LogCursor, at now: Timestamp) async throws -> Int

    /// Returns when everything that was applied before this call is durable. Only durable entries
    /// may be reported to other nodes as applied.
    func synchronize() async throws

    /// Records that invalidations are in the fleet log. If a power failure loses this record, the
    /// invalidations are queued again.
    func published(_ positions: [PurgeID: LogPosition]) async throws

    /// Records that the log holds everything up to a position, and drops journal entries that the
    /// log has held since before a given time.
    func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws
}

/// One step in applying a fleet log to a store.
package enum LogStep: Hashable, Sendable {
    /// Apply the invalidation at a position, unless it is already known.
    case apply(FleetInvalidation, LogPosition)
    /// Publish entries again from this node's journal, because the log has lost its entries between
    /// two positions.
    ///
    /// `before` is `nil` if the log has lost everything after `after`.
    case republish(after: LogPosition, before: LogPosition?)
    /// Mark everything that is stored, because invalidations may have been missed.
    case distrust
}

/// The position up to which a node has read a fleet log.
package struct LogCursor: Hashable, Sendable {
    /// The position; ``LogPosition/zero`` if nothing was read yet.
    package var position: LogPosition
    /// The last number that was read in each epoch. The oldest epochs may be missing.
    package var epochs: [UInt64: UInt64]

    package init(position: LogPosition = .zero, epochs: [UInt64: UInt64] = [:]) {
        self.position = position
        self.epochs = epochs
    }

    /// The maximum number of remembered epochs.
    package static let epochLimit = 64
}

/// A store's state when it joins a fleet log.
package struct LogStart: Hashable, Sendable {
    /// The name of this node's store: 16 random bytes, created when it first joined. A folder that
    /// was copied file by file gets a new name.
    package var node: PurgeID
    package var cursor: LogCursor
    /// The number of invalidations that wait to be published.
    package var unpublished: Int
    /// The notes stored by ``InvalidationLog/remember(_:)``.
    package var notes: [UInt8]

    package init(node: PurgeID, cursor: LogCursor, unpublished: Int, notes: [UInt8] = []) {
        self.notes = notes
        self.node = node
        self.cursor = cursor
        self.unpublished = unpublished
    }
}

/// The reason that a log cannot be used.
package enum InvalidationLogError: Error, Sendable {
    /// The store has not joined a fleet log, or a new database has replaced the database that had
    /// joined. ``InvalidationLog/join(_:at:)`` must be called first.
    case notJoined
}
