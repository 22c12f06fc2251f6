package import HTTPCache

/// Reads a fleet log in order and decides how its entries change this node's store.
///
/// A pure value with no clock and no network: it takes batches of entries and returns steps for the
/// store. `docs/fleet.md` lists the rules. Each rule prevents a known sequence of events that would
/// lose an invalidation.
package struct Follower: Sendable {
    /// The decision about a batch.
    package enum Decision: Sendable {
        /// Apply these steps and the new cursor in one transaction, then call
        /// ``Follower/commit(_:)``.
        case apply(Reading)
        /// The entry at the cursor is missing, so the log has a different history. Read the log
        /// again from its first entry.
        case readAgain
        /// A different server replies at this address, or the server has lost its log. Begin an
        /// epoch before reading.
        case begin
    }

    /// The steps to apply and the cursor after them.
    package struct Reading: Sendable, Hashable {
        package var steps: [LogStep]
        package var cursor: LogCursor
        /// Whether invalidations may have been missed.
        package var hasGap = false
        /// The number of epochs that began.
        package var markers = 0
        /// The positions of entries that could not be decrypted.
        package var unopened: [LogPosition] = []
        /// The entries that could not be decrypted and are therefore not applied here; `nil` if
        /// there are none.
        package var hold: Hold?

        /// The cursor that the store keeps. After a restart, the node reads everything after it
        /// again, in case the missing secret is now configured.
        package var kept: LogCursor { hold?.cursor ?? cursor }
    }

    /// Entries that could not be decrypted. They may be purges, and this node has not applied them.
    package struct Hold: Sendable, Hashable {
        /// The cursor before the first of these entries.
        package var cursor: LogCursor
        /// The position of the first of these entries.
        package var first: LogPosition
        /// The number of these entries.
        package var count: UInt64
    }

    /// The position up to which the log was read.
    package private(set) var cursor: LogCursor
    /// The entries that were read but could not be decrypted.
    package private(set) var hold: Hold?
    /// The log's current epoch as far as this node knows; `nil` before an epoch begins.
    package private(set) var epoch: LogEpoch?
    /// When the log last confirmed this node's contact, on the server's clock. The value is kept
    /// only in memory, so a restart ends the contact.
    private var contactAt: EngineTime?
    /// The time for which a confirmation of contact counts.
    private let lease: Duration
    /// Whether the next batch must start at the first entry of the log.
    private var readsAgain = false

    package init(cursor: LogCursor, lease: Duration) {
        self.cursor = cursor
        self.lease = lease
    }

    /// The highest epoch that this node has seen.
    package var highestEpoch: UInt64 { max(cursor.position.epoch, epoch?.number ?? 0) }

    /// Whether the node has read into the log's current epoch. No confirmation counts before that.
    package var isFollowing: Bool { epoch.map { cursor.position.epoch == $0.number } ?? false }

    /// The position up to which this node has applied everything. Other nodes may rely on it.
    package var applied: LogPosition { hold?.cursor.position ?? cursor.position }

    /// The position after which the next read starts.
    package var readsAfter: LogPosition { readsAgain ? .zero : cursor.position }

    // MARK: Events

    /// Sets the current epoch.
    package mutating func begin(_ epoch: LogEpoch) { self.epoch = epoch }

    /// Starts reading a log that this node has never read. Earlier purges from other nodes are
    /// unknown, so every stored response is marked, and reading starts at the end of the log.
    package func first(_ bounds: LogBounds) -> Reading {
        Reading(steps: [.distrust], cursor: cursor.moved(to: bounds.last), hasGap: true)
    }

    /// Records that the log, in the current epoch, has confirmed everything written before an
    /// instant.
    package mutating func confirm(at time: EngineTime) {
        // A node that could not decrypt an entry may have missed a purge.
        guard isFollowing, hold == nil else { return }
        contactAt = max(time, contactAt ?? time)
    }

    /// Records that the connection was lost or that the log is a different one. Earlier
    /// confirmations stay valid.
    package mutating func loseContact() { epoch = nil }

    /// Goes back to before the entries that could not be decrypted, because a new secret may open
    /// them. No confirmation counts until an epoch begins again and they have been read.
    ///
    /// - Returns: `false` if there are no such entries.
    package mutating func readHeldAgain() -> Bool {
        guard let hold else { return false }
        cursor = hold.cursor
        self.hold = nil
        readsAgain = false
        loseContact()
        return true
    }

    /// Records that the store has applied a reading.
    package mutating func commit(_ reading: Reading) {
        cursor = reading.cursor
        hold = reading.hold
        readsAgain = false
    }

    /// Handles a log that no longer has its entries before a position. If one of the removed
    /// entries is still held undecrypted, it can never be read again, so every stored response is
    /// marked.
    ///
    /// - Returns: `nil` if no removed entry was held.
    package func forgotten(before first: LogPosition) -> Reading? {
        guard let hold, hold.first < first else { return nil }
        var reading = Reading(steps: [], cursor: cursor)
        reading.addGap()
        return reading
    }

    /// Decides what to do with a batch that was read after ``readsAfter``.
    ///
    /// - Parameter open: decrypts a sealed purge; returns `nil` if the purge does not belong to
    ///   this fleet.
    package mutating func decide(
        _ batch: LogBatch,
        open: ([UInt8], LogEntry) -> FleetInvalidation?
    ) -> Decision {
        guard let epoch, batch.epoch == epoch else { return .begin }
        if !readsAgain, batch.atCursor == nil {
            readsAgain = true
            return .readAgain
        }
        var reading = Reading(steps: [], cursor: cursor, hold: hold)
        if readsAgain {
            guard let first = batch.entries.first else { return .begin }
            // Invalidations have IDs, so reading one twice is harmless. But the log may begin after
            // entries that this node never read.
            let inherited = first.inherited
            if !hasRead(first.position), !(first.isMarker && inherited.map(hasRead) ?? true) { reading.addGap() }
            reading.cursor.position = first.isMarker ? inherited ?? .zero : first.position.previous
            // The batch contains the held entry again.
            if let held = hold?.first, batch.entries.contains(where: { $0.position == held }) { reading.hold = nil }
        }
        for entry in batch.entries { take(entry, &reading, open: open) }
        return .apply(reading)
    }

    // MARK: Entries

    private func take(
        _ entry: LogEntry,
        _ reading: inout Reading,
        open: ([UInt8], LogEntry) -> FleetInvalidation?
    ) {
        let position = entry.position
        let before = reading.cursor.position
        if !entry.isMarker, position != before.next { reading.addGap() }
        switch entry.content {
        case .purge(let sealed):
            guard let invalidation = open(sealed, entry) else {
                reading.holdUp(at: position)
                break
            }
            reading.steps.append(.apply(invalidation, position))
            // A purge that covers everything also covers the held entries.
            if invalidation.scope == .all { reading.hold = nil }
        case .unreadable: reading.holdUp(at: position)
        case .marker(let marker):
            reading.markers += 1
            // The server has lost the entries in between. Publish this node's own purges among them
            // again, whether they were confirmed or not yet read back.
            reading.steps.append(.republish(after: marker.inherited ?? .zero, before: position))
            if let inherited = marker.inherited {
                if inherited > before { reading.addGap() }
            } else if !wasInContact(at: entry.addedAt) {
                // The log was lost. A node that was in contact until then has seen every entry. Any
                // other node may have missed entries.
                reading.addGap()
            }
        }
        reading.cursor = reading.cursor.moved(to: position)
    }

    private func hasRead(_ position: LogPosition) -> Bool {
        cursor.epochs[position.epoch].map { $0 >= position.number } ?? false
    }

    private func wasInContact(at time: EngineTime) -> Bool {
        contactAt.map { $0 >= time.adding(.zero - lease) } ?? false
    }
}

extension Follower.Reading {
    /// Records that purges may have been missed, and that the log may have lost some of this node's
    /// own purges.
    fileprivate mutating func addGap() {
        hasGap = true
        // Every stored response is marked, so the held entries no longer matter.
        hold = nil
        steps += [.republish(after: .zero, before: nil), .distrust]
    }

    /// Records an entry that cannot be decrypted. Call this before the cursor moves.
    fileprivate mutating func holdUp(at position: LogPosition) {
        unopened.append(position)
        if hold == nil { hold = Follower.Hold(cursor: cursor.before(position), first: position, count: 0) }
        hold?.count += 1
    }
}

extension LogEntry {
    fileprivate var isMarker: Bool {
        if case .marker = content { true } else { false }
    }

    fileprivate var inherited: LogPosition? {
        if case .marker(let marker) = content { marker.inherited } else { nil }
    }
}

extension LogCursor {
    /// Returns this cursor moved back to just before an entry.
    fileprivate func before(_ position: LogPosition) -> LogCursor {
        var cursor = self
        cursor.epochs = epochs.filter { $0.key <= position.epoch }
        if let last = cursor.epochs[position.epoch], last >= position.number {
            cursor.epochs[position.epoch] = position.previous.number
        }
        return cursor
    }

    /// Returns the cursor after an entry. The oldest epochs are dropped.
    fileprivate func moved(to position: LogPosition) -> LogCursor {
        var moved = self
        moved.position = position
        moved.epochs[position.epoch] = max(position.number, moved.epochs[position.epoch] ?? 0)
        while moved.epochs.count > Self.epochLimit, let oldest = moved.epochs.keys.min() {
            moved.epochs[oldest] = nil
        }
        return moved
    }
}
