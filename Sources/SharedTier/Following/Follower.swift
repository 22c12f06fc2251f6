package import HTTPCache

/// Reads a shared log in order, and decides what its entries mean for the store of this node.
///
/// A value without a clock and without a network: batches come in, steps for the store come out.
/// The rules have names in `docs/shared-tier.md`; each was found by a history in which something
/// was lost without it.
package struct Follower: Sendable {
    /// The treatment of a batch.
    package enum Decision: Sendable {
        /// Put these steps in force, with the new place, in one transaction. Then call
        /// ``Follower/commit(_:)``.
        case apply(Reading)
        /// The entry at the cursor is not in the log: this is another history than the one that was
        /// read. Read the log again, from its first entry.
        case readAgain
        /// Another server is behind the name, or it has lost its log: begin an epoch first.
        case begin
    }

    /// Steps and the place behind them.
    package struct Reading: Sendable, Hashable {
        package var steps: [LogStep]
        package var cursor: LogCursor
        /// Invalidations may have been missed.
        package var hasGap = false
        /// The epochs that began.
        package var markers = 0
        /// The places of entries that could not be opened.
        package var unopened: [LogPosition] = []
        /// The first entry that is not in force here, because it could not be opened.
        package var hold: Hold?

        /// The place that the store keeps. Behind it, everything is read again after a start:
        /// perhaps with the secret that was missing.
        package var kept: LogCursor { hold?.cursor ?? cursor }
    }

    /// Entries that could not be opened, so that they may be purges that are not in force here.
    package struct Hold: Sendable, Hashable {
        /// The place before the first of them.
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
    /// The epoch in which the node believes the log to be; `nil` before one was begun.
    package private(set) var epoch: LogEpoch?
    /// When the log last confirmed this node's contact, by the engine's clock. It is a fact of
    /// memory: a restart ends the contact.
    private var contactAt: EngineTime?
    /// How long a contact counts.
    private let lease: Duration
    /// Whether the next batch begins with the first entry of the log.
    private var readsAgain = false

    package init(cursor: LogCursor, lease: Duration) {
        self.cursor = cursor
        self.lease = lease
    }

    /// The highest epoch that the node has heard of.
    package var highestEpoch: UInt64 { max(cursor.position.epoch, epoch?.number ?? 0) }

    /// Whether the log was read into its present epoch. Before that, nothing that other nodes say
    /// counts as confirmed.
    package var isFollowing: Bool { epoch.map { cursor.position.epoch == $0.number } ?? false }

    /// Everything up to here is in force at this node, and other nodes may rely on it.
    package var applied: LogPosition { hold?.cursor.position ?? cursor.position }

    /// The position behind which to read.
    package var readsAfter: LogPosition { readsAgain ? .zero : cursor.position }

    // MARK: Events

    /// An epoch was begun, or is the present one.
    package mutating func begin(_ epoch: LogEpoch) { self.epoch = epoch }

    /// The log is read for the first time. Purges of other nodes so far are not known, so
    /// everything that is stored is marked, and the log is read from its end.
    package func first(_ bounds: LogBounds) -> Reading {
        Reading(steps: [.distrust], cursor: cursor.moved(to: bounds.last), hasGap: true)
    }

    /// The log has confirmed what was written before an instant, in the present epoch.
    package mutating func confirm(at time: EngineTime) {
        // Who could not open an entry has not heard everything.
        guard isFollowing, hold == nil else { return }
        contactAt = max(time, contactAt ?? time)
    }

    /// The connection was lost, or the log is another one. Earlier confirmations stay.
    package mutating func loseContact() { epoch = nil }

    /// A reading is in force in the store.
    package mutating func commit(_ reading: Reading) {
        cursor = reading.cursor
        hold = reading.hold
        readsAgain = false
    }

    /// The log has no entries before a position any more. One that could not be opened will not be
    /// read again, so everything that is stored is marked.
    ///
    /// - Returns: `nil` if nothing is held up by such an entry.
    package func forgotten(before first: LogPosition) -> Reading? {
        guard let hold, hold.first < first else { return nil }
        var reading = Reading(steps: [], cursor: cursor)
        reading.addGap()
        return reading
    }

    /// Decides about a batch that was read behind ``readsAfter``.
    ///
    /// - Parameter open: opens a sealed purge; `nil` if it is none of this fleet.
    package mutating func decide(
        _ batch: LogBatch,
        open: ([UInt8], LogEntry) -> SharedInvalidation?
    ) -> Decision {
        guard let epoch, batch.epoch == epoch else { return .begin }
        if !readsAgain, batch.atCursor == nil {
            readsAgain = true
            return .readAgain
        }
        var reading = Reading(steps: [], cursor: cursor, hold: hold)
        if readsAgain {
            guard let first = batch.entries.first else { return .begin }
            // Known invalidations are known by their names, so reading them twice does no harm. But
            // the log may begin behind something that this node never read.
            let inherited = first.inherited
            if !hasRead(first.position), !(first.isMarker && inherited.map(hasRead) ?? true) { reading.addGap() }
            reading.cursor.position = first.isMarker ? inherited ?? .zero : first.position.previous
            // It is met again.
            if let held = hold?.first, batch.entries.contains(where: { $0.position == held }) { reading.hold = nil }
        }
        for entry in batch.entries { take(entry, &reading, open: open) }
        return .apply(reading)
    }

    // MARK: Entries

    private func take(
        _ entry: LogEntry,
        _ reading: inout Reading,
        open: ([UInt8], LogEntry) -> SharedInvalidation?
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
            // It covers everything that an entry before it may be about.
            if invalidation.scope == .all { reading.hold = nil }
        case .unreadable: reading.holdUp(at: position)
        case .marker(let marker):
            reading.markers += 1
            // The server has lost what lies between: what it has confirmed to this node, and what
            // this node has written and not read yet.
            reading.steps.append(.republish(after: marker.inherited ?? .zero, before: position))
            if let inherited = marker.inherited {
                if inherited > before { reading.addGap() }
            } else if !wasInContact(at: entry.addedAt) {
                // The log was lost. Who was there until then has heard everything; others cannot
                // know.
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
        // Everything stored is marked, whatever the entries before were about.
        hold = nil
        steps += [.republish(after: .zero, before: nil), .distrust]
    }

    /// Notes an entry that cannot be opened. Call it before the place moves.
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
    /// This place, without knowledge of an entry and of what is behind it.
    fileprivate func before(_ position: LogPosition) -> LogCursor {
        var cursor = self
        cursor.epochs = epochs.filter { $0.key <= position.epoch }
        if let last = cursor.epochs[position.epoch], last >= position.number {
            cursor.epochs[position.epoch] = position.previous.number
        }
        return cursor
    }

    /// The place behind an entry. The oldest epochs are forgotten.
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
