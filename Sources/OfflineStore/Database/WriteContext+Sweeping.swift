import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// Invalidations of many entries: they take effect with their commit, then a sweep over all entries
/// applies them to the rows.
extension WriteContext {
    /// Invalidates every response.
    ///
    /// - Returns: the invalidation's number.
    func invalidateAll(_ effect: InvalidationEffect, at now: Timestamp) throws -> Int64 {
        let number = try nextInvalidation(.all, hash: 0, at: now)
        if effect != .remove {
            try connection.run("UPDATE store SET response_floor = ?1 WHERE id = 1", number)
            noteLowWaterMarks(response: number)
            try connection.run("DELETE FROM prefix_invalidation WHERE is_removal = 0")
        } else {
            try connection.run("UPDATE store SET response_removed = ?1 WHERE id = 1", number)
            noteRemovals(response: number)
            noteChange(.everything)
            // Every response that they concern is removed.
            try connection.run(
                "DELETE FROM prefix_invalidation WHERE substr(prefix, 1, 1) <> \(ObjectPrefix.formLiteral)"
            )
            try connection.run("DELETE FROM tag_invalidation")
            try connection.run("DELETE FROM unsafe_tag_invalidation")
            memory.tagCursor = .min
            requestEntrySweep()
        }
        return number
    }

    /// Removes every response and every object.
    func removeEverything(at now: Timestamp) throws {
        let number = try invalidateAll(.remove, at: now)
        try connection.run("UPDATE store SET object_removed = ?1 WHERE id = 1", number)
        noteRemovals(object: number)
    }

    /// Records an invalidation of all targets with a prefix.
    ///
    /// If more than ``PendingInvalidation/limit`` are unfinished, those that mark become one
    /// invalidation of everything, which needs no comparison. Removals cannot be merged this way,
    /// because they would remove other responses.
    func invalidatePrefix(_ prefix: TargetPrefix, _ effect: InvalidationEffect, at now: Timestamp) throws
        -> Invalidation
    {
        try forgetPrefixes(within: prefix, keepingForOffline: effect != .remove)
        let fencingNumber = (scope: LogScope.prefix, hash: state.hash(prefix.originBytes, .origin))
        return try invalidate(.prefix(prefix), prefix.canonicalBytes, fencingNumber, effect, at: now)
    }

    /// Records an invalidation of all targets of a host. It counts as an unfinished prefix.
    ///
    /// The log keeps hashes of origins, and a host can have any number of origins. So no in-flight
    /// fetch that began earlier is stored, whatever its origin.
    func invalidateHost(_ host: TargetHost, _ effect: InvalidationEffect, at now: Timestamp) throws -> Invalidation {
        try forgetEarlier(host.canonicalBytes, effect)
        return try invalidate(.host(host), host.canonicalBytes, (.all, 0), effect, at: now)
    }

    /// Records an invalidation of everything of one principal. It is one of the unfinished
    /// prefixes.
    func invalidatePrincipal(_ owner: KeyOwner, _ effect: InvalidationEffect, at now: Timestamp) throws
        -> Invalidation
    {
        let bytes = owner.canonicalBytes
        try forgetEarlier(bytes, effect)
        return try invalidate(.principal(owner.name), bytes, (.principal, state.hash(bytes, .owner)), effect, at: now)
    }

    /// Records a removal of all objects whose keys begin with some bytes. It is one of the
    /// unfinished prefixes.
    ///
    /// - Throws: ``StoreError`` with `busy` if too many are unfinished.
    func removeObjects(_ prefix: ObjectPrefix, at now: Timestamp) throws {
        let bytes = prefix.canonicalBytes
        try forgetEarlier(bytes, .remove)
        guard try countPrefixes() < PendingInvalidation.limit else { throw Self.tooManyPrefixes }
        try record(bytes, number: nextInvalidation(.objects, hash: state.hash(bytes, .objectKey), at: now), .remove)
    }

    /// Deletes unfinished invalidations that a new one with the same encoding replaces.
    private func forgetEarlier(_ bytes: [UInt8], _ effect: InvalidationEffect) throws {
        let earlier = try connection.prepare("DELETE FROM prefix_invalidation WHERE prefix = ?1 AND is_removal <= ?2")
        earlier.bind(1, bytes)
        earlier.bind(2, effect == .remove)
        try earlier.run()
    }

    private func countPrefixes() throws -> Int {
        Int(clamping: try connection.integer("SELECT count(*) FROM prefix_invalidation") ?? 0)
    }

    private static let tooManyPrefixes = StoreError(
        code: .busy,
        message:
            "\(PendingInvalidation.limit) removals by prefix, host or principal are in progress, which is the limit. "
            + "Try again in a moment, or remove all responses."
    )

    /// - Parameters:
    ///   - bytes: the encoding that keys are compared with.
    ///   - fencingNumber: the scope and the hash in the log that in-flight fetches are checked
    ///     against.
    private func invalidate(
        _ requested: InvalidationScope,
        _ bytes: [UInt8],
        _ fencingNumber: (scope: LogScope, hash: Int64),
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) throws -> Invalidation {
        let keepingForOffline = effect != .remove
        var scope = requested
        if try countPrefixes() >= PendingInvalidation.limit {
            let removals = try connection.integer("SELECT count(*) FROM prefix_invalidation WHERE is_removal = 1") ?? 0
            if removals >= PendingInvalidation.limit, !keepingForOffline { throw Self.tooManyPrefixes }
            let number = try invalidateAll(.mark(.unspecified), at: now)
            scope = .all
            if keepingForOffline { return Invalidation(number: number, scope: scope) }
        }
        let number = try nextInvalidation(fencingNumber.scope, hash: fencingNumber.hash, at: now)
        try record(bytes, number: number, effect)
        return Invalidation(number: number, scope: scope)
    }

    private func record(_ bytes: [UInt8], number: Int64, _ effect: InvalidationEffect) throws {
        let statement = try connection.prepare(
            "INSERT INTO prefix_invalidation (sequence, prefix, is_removal) VALUES (?1, ?2, ?3)"
        )
        statement.bind(1, number)
        statement.bind(2, bytes)
        statement.bind(3, effect == .remove)
        try statement.run()
        requestEntrySweep()
    }

    /// Deletes unfinished invalidations that a new prefix includes.
    private func forgetPrefixes(within prefix: TargetPrefix, keepingForOffline: Bool) throws {
        let statement = try connection.prepare(
            "SELECT sequence, prefix FROM prefix_invalidation WHERE is_removal <= ?1"
        )
        statement.bind(1, !keepingForOffline)
        var numbers: [Int64] = []
        while try statement.step() {
            if let other = TargetPrefix(canonicalBytes: statement.bytes(1)), prefix.includes(other) {
                numbers.append(statement.integer(0))
            }
        }
        statement.reset()
        for number in numbers { try connection.run("DELETE FROM prefix_invalidation WHERE sequence = ?1", number) }
    }

    /// The result of one step of the sweep.
    struct SweepStep {
        /// The number of removed rows.
        var removed = 0
        /// Whether there is nothing more to do.
        var isDone = false
    }

    /// The rows examined in one step.
    private static let scanCount: Int64 = 2048

    /// Applies unfinished removals of everything, and unfinished prefix invalidations, to some
    /// entries.
    ///
    /// One round over the table covers all invalidations that are in effect when it begins; later
    /// ones get another round. Entries stored in the meantime have larger numbers than all of them.
    ///
    /// - Parameter count: the most entries to change.
    func sweepEntries(atMost count: Int) throws -> SweepStep {
        guard try hasPendingRemovalOfAll() || connection.integer("SELECT 1 FROM prefix_invalidation LIMIT 1") != nil
        else {
            return SweepStep(isDone: true)
        }
        if memory.entryRound == nil {
            memory.entryRound = try sequence().last
            memory.entryCursor = .min
        }
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, kind, sequence, is_invalidated, \(PendingInvalidation.byPrefix)
            FROM entry WHERE id > ?1 ORDER BY id LIMIT ?2
            """
        )
        statement.bind(1, memory.entryCursor)
        statement.bind(2, Self.scanCount)
        var seen: Int64 = 0
        var bytes: Int64 = 0
        var marks: [Int64] = []
        var removals: [EntryRows] = []
        // Bytes are also limited, because overwritten content goes to the log completely.
        while marks.count + removals.count < count, bytes < state.limits.transaction, try statement.step() {
            seen += 1
            memory.entryCursor = statement.integer(0)
            let pending = PendingInvalidation(statement.integer(6))
            let kind = EntryKind(rawValue: statement.integer(3)) ?? .response
            if pending == .removed || statement.integer(4) < removalLowWaterMark(kind) {
                removals.append(EntryRows(statement))
                bytes += min(statement.integer(2), Int64(StoreLimits.chunkLength))
            } else if pending.cause != nil, !statement.flag(5) {
                marks.append(statement.integer(0))
            }
        }
        let isAtEnd = seen < Self.scanCount && marks.count + removals.count < count && bytes < state.limits.transaction
        statement.reset()
        for id in marks { try mark(id, .unspecified) }
        for place in removals { try remove(place) }
        if isAtEnd { try endRound() }
        return SweepStep(removed: removals.count)
    }

    /// Ends a round: the invalidations in effect when it began have reached every row.
    private func endRound() throws {
        guard let last = memory.entryRound else { return }
        memory.entryRound = nil
        try connection.run("DELETE FROM prefix_invalidation WHERE sequence <= ?1", last)
        // No entry below these numbers is left, so the next opening has nothing to sweep.
        try connection.run("UPDATE store SET response_removed = 0 WHERE id = 1 AND response_removed <= ?1", last)
        try connection.run("UPDATE store SET object_removed = 0 WHERE id = 1 AND object_removed <= ?1", last)
    }

    private func hasPendingRemovalOfAll() throws -> Bool {
        try connection.integer("SELECT 1 FROM store WHERE id = 1 AND response_removed + object_removed > 0") != nil
    }

    /// Whether there may be rows that already count as removed. They are deleted first when space
    /// is needed.
    func hasPendingRemovals() throws -> Bool {
        try hasPendingRemovalOfAll()
            || connection.integer("SELECT 1 FROM prefix_invalidation WHERE is_removal = 1 LIMIT 1") != nil
    }

    /// Returns whether an entry exists for readers.
    ///
    /// - Parameters:
    ///   - sequence: the entry's sequence number.
    ///   - pending: the column ``PendingInvalidation/state``.
    func exists(_ kind: EntryKind, sequence: Int64, pending: Int64) -> Bool {
        sequence >= removalLowWaterMark(kind) && PendingInvalidation(pending) != .removed
    }

    /// Returns whether an entry exists for readers.
    func exists(_ id: Int64) throws -> Bool {
        let statement = try connection.prepare(
            "SELECT kind, sequence, \(PendingInvalidation.state) FROM entry WHERE id = ?1"
        )
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step(), let kind = EntryKind(rawValue: statement.integer(0)) else { return false }
        return exists(kind, sequence: statement.integer(1), pending: statement.integer(2))
    }
}
