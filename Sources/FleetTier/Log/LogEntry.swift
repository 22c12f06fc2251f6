package import HTTPCache

/// An entry of a fleet log.
package struct LogEntry: Sendable, Hashable {
    /// The longest sealed record, in bytes.
    package static let longestSealed = SealedPurge.longest

    package var position: LogPosition
    /// When the engine added it, by its clock.
    package var addedAt: EngineTime
    package var content: LogContent

    package init(position: LogPosition, addedAt: EngineTime, content: LogContent) {
        self.position = position
        self.addedAt = addedAt
        self.content = content
    }
}

/// An entry that is about to be published.
package struct NewEntry: Sendable, Hashable {
    /// The maximum number of entries that are published together.
    package static let most = 64

    package var purge: PurgeID
    /// At most ``LogEntry/longestSealed`` bytes.
    package var sealed: [UInt8]

    package init(purge: PurgeID, sealed: [UInt8]) {
        self.purge = purge
        self.sealed = sealed
    }

    /// - Throws: ``FleetLogError/limit(_:)`` if there are no entries or too many, or an entry is
    ///   too long.
    package static func check(_ entries: [NewEntry]) throws(FleetLogError) {
        guard (1...most).contains(entries.count) else { throw .limit("entries") }
        guard entries.allSatisfy({ $0.sealed.count <= LogEntry.longestSealed }) else { throw .limit("entry") }
    }
}

/// The content of an entry.
package enum LogContent: Sendable, Hashable {
    /// A purge, sealed: see ``LogSealer``.
    case purge([UInt8])
    /// An epoch begins.
    case marker(EpochMarker)
    /// Another program wrote it, or it is damaged. It is skipped, but its position is known.
    case unreadable
}

/// Entries in the order of their positions, and the state of their server.
///
/// Both come from one server, at one moment after the wait. Check the state before the entries: if
/// the entry at the cursor is missing, they belong to a different history.
package struct LogBatch: Sendable, Hashable {
    /// The maximum number of entries in a batch.
    package static let mostEntries = 512

    package var entries: [LogEntry]
    /// The server's epoch; `nil` if it has not begun one or has lost it.
    package var epoch: LogEpoch?
    /// The entry at the cursor; `nil` if it is not in the log, which is always so at
    /// ``LogPosition/zero``.
    package var atCursor: LogEntry?

    package init(entries: [LogEntry], epoch: LogEpoch?, atCursor: LogEntry?) {
        self.entries = entries
        self.epoch = epoch
        self.atCursor = atCursor
    }
}

/// The first and last position of a log.
package struct LogBounds: Sendable, Hashable {
    package var first: LogPosition
    package var last: LogPosition

    package init(first: LogPosition, last: LogPosition) {
        self.first = first
        self.last = last
    }
}

/// How much of a log is retained.
package struct LogRetention: Sendable, Hashable {
    /// Entries that were added earlier are removed; `nil`: no limit by age.
    package var since: EngineTime?
    /// The maximum number of retained entries, at least 1; `nil`: no limit.
    package var count: Int?
    /// Rows of nodes that were written earlier are removed; `nil`: no rows are removed.
    package var nodesSince: EngineTime?

    package init(since: EngineTime? = nil, count: Int? = nil, nodesSince: EngineTime? = nil) {
        self.since = since
        self.count = count
        self.nodesSince = nodesSince
    }
}
