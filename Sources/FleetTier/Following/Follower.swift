package import HTTPCache

/// Reads a fleet log in order, and decides what its entries mean for the store of this node.
///
/// A pure value with no clock and no network: batches go in, steps for the store come out.
/// `docs/fleet.md` names the rules. Each rule exists because a history was found in which
/// something was lost without it.
package struct Follower: Sendable {
    /// The decision about a batch.
    package enum Decision: Sendable {
        /// Apply these steps and the new cursor in one transaction. Then call
        /// ``Follower/commit(_:)``.
        case apply(Reading)
        /// The entry at the cursor is not in the log, so this is not the history that was read.
        /// Read the log again from its first entry.
        case readAgain
        /// Another server answers under this name, or the server has lost its log. Begin an epoch
        /// first.
        case begin
    }

    /// Steps, and the cursor after them.
    package struct Reading: Sendable, Hashable {
        package var steps: [LogStep]
        package var cursor: LogCursor
        /// Invalidations may have been missed.
        package var hasGap = false
        /// The epochs that began.
        package var markers = 0
        /// The positions of entries that could not be opened.
        package var unopened: [LogPosition] = []
        /// The first entry that is not in force here because it could not be opened.
        package var hold: Hold?

        /// The cursor that the store keeps. After a restart, everything after it is read again,
        /// perhaps with the secret that was missing.
        package var kept: LogCursor { hold?.cursor ?? cursor }
    }

    /// Entries that could not be opened. They may be purges, which are then not in force here.
    package struct Hold: Sendable, Hashable {
        /// The cursor before the first of them.
        package var cursor: LogCursor
        /// The first of them.
        package var first: LogPosition
        /// How many there are.
        package var count: UInt64
    }

    /// How far the log was read.
    package private(set) var cursor: LogCursor
    /// The entries that were read and could not be opened.
    package private(set) var hold: Hold?
    /// The log's current epoch as far as the node knows; `nil` before an epoch has begun.
    package private(set) var epoch: LogEpoch?
    /// When the log last confirmed this node's contact, by the engine's clock. It is only in
    /// memory, so a restart ends the contact.
    private var contactAt: EngineTime?
    /// How long a contact counts.
    private let lease: Duration
    /// Whether the next batch begins at the first entry of the log.
    private var readsAgain = false

    package init(cursor: LogCursor, lease: Duration) {
        self.cursor = cursor
        self.lease = lease
    }

    /// The highest epoch that the node has heard of.
    package var highestEpoch: UInt64 { max(cursor.position.epoch, epoch?.number ?? 0) }

    /// Whether the node has read into the log's current epoch. Until then, no confirmation counts.
    package var isFollowing: Bool { epoch.map { cursor.position.epoch == $0.number } ?? false }

    /// Everything up to this position is in force at this node, and other nodes may rely on that.
    package var applied: LogPosition { hold?.cursor.position ?? cursor.position }

    /// The position after which to read.
    package var readsAfter: LogPosition { readsAgain ? .zero : cursor.position }

    // MARK: Events

    /// Notes the epoch that has begun or is current.
    package mutating func begin(_ epoch: LogEpoch) { self.epoch = epoch }

    /// Reads the log for the first time. Earlier purges of other nodes are unknown, so every stored
    /// response is marked, and reading starts at the end of the log.
    package func first(_ bounds: LogBounds) -> Reading {
        Reading(steps: [.distrust], cursor: cursor.moved(to: bounds.last), hasGap: true)
    }

    /// Notes that the log has confirmed, in the current epoch, everything written before an
    /// instant.
    package mutating func confirm(at time: EngineTime) {
        // A node that could not open an entry has not heard everything.
        guard isFollowing, hold == nil else { return }
        contactAt = max(time, contactAt ?? time)
    }

    /// Notes that the connection was lost or the log is a different one. Earlier confirmations
    /// remain.
    package mutating func loseContact() { epoch = nil }

    /// Notes that a reading is in force in the store.
    package mutating func commit(_ reading: Reading) {
        cursor = reading.cursor
        hold = reading.hold
        readsAgain = false
    }

    /// Handles a log whose entries before a position are gone. An unopened entry among them cannot
    /// be read again, so every stored response is marked.
    ///
    /// - Returns: `nil` if no such entry holds anything up.
    package func forgotten(before first: LogPosition) -> Reading? {
        guard let hold, hold.first < first else { return nil }
        var reading = Reading(steps: [], cursor: cursor)
        reading.addGap()
        return reading
    }

    /// Decides about a batch that was read after ``readsAfter``.
    ///
    /// - Parameter open: opens a sealed purge; `nil` if it does not belong to this fleet.
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
            // Invalidations are recognized by name, so reading one twice is harmless. But the log
            // may begin after entries that this node never read.
            let inherited = first.inherited
            if !hasRead(first.position), !(first.isMarker && inherited.map(hasRead) ?? true) { reading.addGap() }
            reading.cursor.position = first.isMarker ? inherited ?? .zero : first.position.previous
            // The batch contains it again.
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
            // It covers anything that an earlier entry may be about.
            if invalidation.scope == .all { reading.hold = nil }
        case .unreadable: reading.holdUp(at: position)
        case .marker(let marker):
            reading.markers += 1
            // The server has lost the entries in between: some that it confirmed to this node, and
            // some that this node wrote but has not read yet.
            reading.steps.append(.republish(after: marker.inherited ?? .zero, before: position))
            if let inherited = marker.inherited {
                if inherited > before { reading.addGap() }
            } else if !wasInContact(at: entry.addedAt) {
                // The log was lost. A node that had contact until then has heard everything; other
                // nodes cannot know.
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
    /// Purges may have been missed, and the log may have lost some of this node's.
    fileprivate mutating func addGap() {
        hasGap = true
        // Every stored response is marked, no matter what the earlier entries were about.
        hold = nil
        steps += [.republish(after: .zero, before: nil), .distrust]
    }

    /// Notes an entry that cannot be opened. Call it before the cursor moves.
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
    /// This cursor, moved back to before an entry.
    fileprivate func before(_ position: LogPosition) -> LogCursor {
        var cursor = self
        cursor.epochs = epochs.filter { $0.key <= position.epoch }
        if let last = cursor.epochs[position.epoch], last >= position.number {
            cursor.epochs[position.epoch] = position.previous.number
        }
        return cursor
    }

    /// The cursor after an entry. The oldest epochs are forgotten.
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
