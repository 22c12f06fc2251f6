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
        /// The entries that could not be read.
        package var unreadable = 0
    }

    /// How far the store has read.
    package private(set) var cursor: LogCursor
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
        guard isFollowing else { return }
        contactAt = max(time, contactAt ?? time)
    }

    /// The connection was lost, or the log is another one. Earlier confirmations stay.
    package mutating func loseContact() { epoch = nil }

    /// A reading is in force in the store.
    package mutating func commit(_ reading: Reading) {
        cursor = reading.cursor
        readsAgain = false
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
        var reading = Reading(steps: [], cursor: cursor)
        if readsAgain {
            guard let first = batch.entries.first else { return .begin }
            // Known invalidations are known by their names, so reading them twice does no harm. But
            // the log may begin behind something that this node never read.
            let inherited = first.inherited
            if !hasRead(first.position), !(first.isMarker && inherited.map(hasRead) ?? true) { reading.addGap() }
            reading.cursor.position = first.isMarker ? inherited ?? .zero : first.position.previous
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
            if let invalidation = open(sealed, entry) {
                reading.steps.append(.apply(invalidation, position))
            } else {
                reading.unreadable += 1
            }
        case .unreadable: reading.unreadable += 1
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
        steps += [.republish(after: .zero, before: nil), .distrust]
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
