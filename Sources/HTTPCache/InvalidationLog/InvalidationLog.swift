package import HTTPCacheSemantics

/// The log of a store's invalidations, for a node that shares them with other nodes.
///
/// A store that is joined to a fleet log journals each invalidation that a caller asked for, in
/// the transaction that puts it in force. So neither can be lost without the other. The journal
/// also has the invalidations of other nodes that were put in force here: every node can tell the
/// fleet log again what it has lost.
///
/// A journaled invalidation without a position waits to be published. With one, it is in the fleet
/// log, as far as this node knows; it is forgotten some time after the log has confirmed it.
package protocol InvalidationLog: Sendable {
    /// The number of the last invalidation in force here. As cheap as an atomic read.
    var current: InvalidationSequence { get }

    /// An element after each commit that journaled something to be published; several may become
    /// one. A later call ends the stream of an earlier one.
    func additions() -> AsyncStream<Void>

    /// How often something was journaled since the start: as cheap as an atomic read. It counts
    /// before ``current`` has the invalidation's number: a response that is looked for with that
    /// number can be judged by what the journal has.
    var additionCount: UInt64 { get }

    /// Begins to journal, or continues.
    ///
    /// A store that was joined to a log of another name forgets its journal and its place.
    ///
    /// - Parameter name: the namespace of the fleet log.
    func join(_ name: String, at now: Timestamp) async throws -> LogStart

    /// Gives this node's store another name: another process runs on a copy of it.
    ///
    /// - Returns: the name, which outlasts this process.
    func renewNode() async throws -> PurgeID

    /// Keeps notes about the other nodes beside the store, for the next ``join(_:at:)``. They are
    /// durable when this returns.
    func remember(_ notes: [UInt8]) async throws

    /// The journaled invalidations that wait to be published, in the order in which they came.
    ///
    /// - Throws: ``InvalidationLogError/notJoined``, as any method may that needs the journal.
    func unpublished(limit: Int) async throws -> [FleetInvalidation]

    /// How many invalidations wait to be published.
    func unpublishedCount() async throws -> Int

    /// The journaled invalidations that were in the fleet log after a position, in its order.
    ///
    /// - Parameter position: ``LogPosition/zero`` for all of them.
    func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation]

    /// Puts in force and journals what the fleet log has, in one transaction with the new place.
    /// If it throws, nothing of it has happened.
    ///
    /// It is in force when this returns, and durable after ``synchronize()``. The end of the
    /// process loses nothing of it. A power cut may lose the latest calls, each as a whole: the
    /// place is an earlier one then, behind which the log has them. It loses no invalidation that a
    /// caller asked for, and makes nothing doubtful that was stored.
    ///
    /// - Returns: how many invalidations were new here.
    @discardableResult
    func append(_ steps: [LogStep], through place: LogCursor, at now: Timestamp) async throws -> Int

    /// Returns when everything that was put in force before this call is durable. Only that may be
    /// told to other nodes as applied.
    func synchronize() async throws

    /// Notes that invalidations are in the fleet log. A power cut may lose that: they wait again
    /// then.
    func published(_ positions: [PurgeID: LogPosition]) async throws

    /// Notes that the log keeps everything up to a position, and forgets what it has kept since an
    /// earlier instant.
    func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws
}

/// One step in applying a fleet log to a store.
package enum LogStep: Hashable, Sendable {
    /// An invalidation is at a position. If it is not known, it is put in force.
    case apply(FleetInvalidation, LogPosition)
    /// The log has lost what it had between two positions: this node publishes again what its
    /// journal has of it.
    ///
    /// `before` is `nil` if it lost everything behind.
    case republish(after: LogPosition, before: LogPosition?)
    /// Invalidations may have been missed: everything stored is marked.
    case distrust
}

/// How far a node has read a fleet log.
package struct LogCursor: Hashable, Sendable {
    /// ``LogPosition/zero`` before anything was read.
    package var position: LogPosition
    /// The last number that was read of each epoch; of the oldest epochs it may be forgotten.
    package var epochs: [UInt64: UInt64]

    package init(position: LogPosition = .zero, epochs: [UInt64: UInt64] = [:]) {
        self.position = position
        self.epochs = epochs
    }

    /// The number of epochs that are remembered.
    package static let epochLimit = 64
}

/// Where a store stands when it joins a fleet log.
package struct LogStart: Hashable, Sendable {
    /// The name of this node's store: 16 random bytes, made when it first joined. A folder that was
    /// copied file by file gets a new one.
    package var node: PurgeID
    package var cursor: LogCursor
    /// How many invalidations wait to be published.
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

/// The reasons for which a log takes nothing.
package enum InvalidationLogError: Error, Sendable {
    /// The store has not joined a fleet log, or a new database has replaced the one that
    /// had: ``InvalidationLog/join(_:at:)`` has to be called first.
    case notJoined
}
