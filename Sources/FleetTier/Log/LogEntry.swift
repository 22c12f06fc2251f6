package import HTTPCache

/// An entry of a fleet log.
package struct LogEntry: Sendable, Hashable {
    /// The maximum length of a sealed record, in bytes.
    package static let longestSealed = SealedPurge.longest

    package var position: LogPosition
    /// When the server added the entry, on the server's clock.
    package var addedAt: EngineTime
    package var content: LogContent

    package init(position: LogPosition, addedAt: EngineTime, content: LogContent) {
        self.position = position
        self.addedAt = addedAt
        self.content = content
    }

    /// Returns a number of entries in words, such as `1 entry` or `40 entries`.
    package static func counted(_ number: some BinaryInteger) -> String {
        number == 1 ? "1 entry" : "\(number) entries"
    }
}

/// An entry to publish.
package struct NewEntry: Sendable, Hashable {
    /// The maximum number of entries in one call.
    package static let most = 64

    package var purge: PurgeID
    /// The sealed purge, at most ``LogEntry/longestSealed`` bytes.
    package var sealed: [UInt8]

    package init(purge: PurgeID, sealed: [UInt8]) {
        self.purge = purge
        self.sealed = sealed
    }

    /// - Throws: ``FleetLogError/limit(_:)`` if there are no entries, too many entries, or an entry
    ///   that is too long.
    package static func check(_ entries: [NewEntry]) throws(FleetLogError) {
        guard (1...most).contains(entries.count) else { throw .limit("entries") }
        guard entries.allSatisfy({ $0.sealed.count <= LogEntry.longestSealed }) else { throw .limit("entry") }
    }
}

/// The content of an entry.
package enum LogContent: Sendable, Hashable {
    /// A sealed purge: see ``LogSealer``.
    case purge([UInt8])
    /// The start of an epoch.
    case marker(EpochMarker)
    /// An entry that another program wrote, or that is damaged. It is skipped, but its position is
    /// known.
    case unreadable
}

/// Entries in order of position, and the state of the server that returned them.
///
/// The server is read at one moment, after the wait. Check the state before using the entries: if
/// the entry at the cursor is missing, the entries belong to a different history.
package struct LogBatch: Sendable, Hashable {
    /// The maximum number of entries in a batch.
    package static let mostEntries = 512

    package var entries: [LogEntry]
    /// The server's epoch; `nil` if the server has not begun one or has lost it.
    package var epoch: LogEpoch?
    /// The entry at the cursor; `nil` if it is not in the log. Always `nil` at
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

/// The limits that decide which entries and node rows a log keeps.
package struct LogRetention: Sendable, Hashable {
    /// Entries added before this time are removed; `nil` sets no age limit.
    package var since: EngineTime?
    /// The maximum number of retained entries, at least 1; `nil` sets no limit.
    package var count: Int?
    /// Node rows written before this time are removed; `nil` keeps all rows.
    package var nodesSince: EngineTime?

    package init(since: EngineTime? = nil, count: Int? = nil, nodesSince: EngineTime? = nil) {
        self.since = since
        self.count = count
        self.nodesSince = nodesSince
    }
}
