package import HTTPCacheSemantics

/// A store's log of invalidations, for a node that shares them with other nodes.
///
/// A store that has joined a fleet log journals each invalidation that a caller requests, in the
/// transaction that puts it into effect. So neither can be lost without the other. The journal also
/// contains other nodes' invalidations that were applied here, so every node can publish again what
/// the fleet log has lost.
///
/// A journaled invalidation without a position waits to be published. With a position, it is in the
/// fleet log, as far as this node knows. It is dropped some time after the log has confirmed it.
package protocol InvalidationLog: Sendable {
    /// The number of the last invalidation in effect here. As cheap as an atomic read.
    var current: InvalidationSequence { get }

    /// An element after each commit that journaled something to publish; several may become one. A
    /// later call ends the stream of an earlier one.
    func additions() -> AsyncStream<Void>

    /// How often something was journaled since the start. As cheap as an atomic read. It is
    /// increased before ``current`` has the invalidation's number, so that a response looked up
    /// with that number can be compared with the journal.
    var additionCount: UInt64 { get }

    /// Starts or continues journaling.
    ///
    /// A store that had joined a log with another name drops its journal and its position.
    ///
    /// - Parameter name: the namespace of the fleet log.
    func join(_ name: String, at now: Timestamp) async throws -> LogStart

    /// Gives this node's store a new name, because another process runs on a copy of it.
    ///
    /// - Returns: the name, which outlasts this process.
    func renewNode() async throws -> PurgeID

    /// Keeps notes about the other nodes with the store, for the next ``join(_:at:)``. They are
    /// durable when this returns.
    func remember(_ notes: [UInt8]) async throws

    /// The journaled invalidations waiting to be published, in order.
    ///
    /// - Throws: ``InvalidationLogError/notJoined``, like any method that needs the journal.
    func unpublished(limit: Int) async throws -> [FleetInvalidation]

    /// The number of invalidations waiting to be published.
    func unpublishedCount() async throws -> Int

    /// The journaled invalidations that were in the fleet log after a position, in its order.
    ///
    /// - Parameter position: ``LogPosition/zero`` for all of them.
    func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation]

    /// Applies and journals entries of the fleet log, in one transaction with the new position. If
    /// it throws, nothing has changed.
    ///
    /// The entries are in effect when this returns, and durable after ``synchronize()``. They
    /// survive the end of the process. A power failure may lose the latest calls, each as a whole.
    /// The position is then an earlier one, and the log still has the entries after it. A power
    /// failure does not lose invalidations that a caller requested, and does not make stored data
    /// doubtful.
    ///
    /// - Returns: the number of invalidations that were new here.
    @discardableResult
    func append(_ steps: [LogStep], through place: LogCursor, at now: Timestamp) async throws -> Int

    /// Returns when everything applied before this call is durable. Only that may be reported to
    /// other nodes as applied.
    func synchronize() async throws

    /// Records that invalidations are in the fleet log. If a power failure loses this, they are
    /// queued again.
    func published(_ positions: [PurgeID: LogPosition]) async throws

    /// Records that the log keeps everything up to a position, and drops entries that it has kept
    /// since before a given time.
    func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws
}

/// One step in applying a fleet log to a store.
package enum LogStep: Hashable, Sendable {
    /// An invalidation is at a position. It is applied unless it is known.
    case apply(FleetInvalidation, LogPosition)
    /// The log has lost its entries between two positions. This node publishes them again from its
    /// journal.
    ///
    /// `before` is `nil` if it lost everything after `after`.
    case republish(after: LogPosition, before: LogPosition?)
    /// Invalidations may have been missed, so everything stored is marked.
    case distrust
}

/// How far a node has read a fleet log.
package struct LogCursor: Hashable, Sendable {
    /// ``LogPosition/zero`` before anything was read.
    package var position: LogPosition
    /// The last number that was read of each epoch. The oldest epochs may be missing.
    package var epochs: [UInt64: UInt64]

    package init(position: LogPosition = .zero, epochs: [UInt64: UInt64] = [:]) {
        self.position = position
        self.epochs = epochs
    }

    /// The number of epochs to remember.
    package static let epochLimit = 64
}

/// A store's state when it joins a fleet log.
package struct LogStart: Hashable, Sendable {
    /// The name of this node's store: 16 random bytes, created when it first joined. A folder that
    /// was copied file by file gets a new one.
    package var node: PurgeID
    package var cursor: LogCursor
    /// The number of invalidations waiting to be published.
    package var unpublished: Int
    /// The notes of ``InvalidationLog/remember(_:)``.
    package var notes: [UInt8]

    package init(node: PurgeID, cursor: LogCursor, unpublished: Int, notes: [UInt8] = []) {
        self.notes = notes
        self.node = node
        self.cursor = cursor
        self.unpublished = unpublished
    }
}

/// Why a log accepts nothing.
package enum InvalidationLogError: Error, Sendable {
    /// The store has not joined a fleet log, or a new database has replaced the one that had.
    /// ``InvalidationLog/join(_:at:)`` must be called first.
    case notJoined
}
