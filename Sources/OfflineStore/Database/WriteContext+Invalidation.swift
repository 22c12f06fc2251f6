import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// Invalidations: one sequence and one bounded log, which is checked inside the commit of every
/// in-flight fetch.
extension WriteContext {
    /// The result of an invalidation.
    struct Invalidation: Sendable {
        var number: Int64
        /// The scope that was invalidated. It may be larger than the requested one.
        var scope: InvalidationScope
    }

    /// Returns whether an invalidation after `fencingNumber` concerned this key, target, origin or
    /// principal, or one of some tags.
    ///
    /// If the log no longer reaches back to the fencing number, it returns `true`.
    ///
    /// - Parameter tags: called only if there was any invalidation after the fencing number.
    func isInvalidated(
        after fencingNumber: InvalidationSequence,
        keyHash: Int64,
        targetHash: Int64,
        wide: @autoclosure () -> WideHashes,
        tags: () throws -> [TagName]
    ) throws -> Bool {
        if fencingNumber.number >= lastSequence { return false }
        let (_, logLowWaterMark) = try sequence()
        if fencingNumber.number < logLowWaterMark { return true }
        let broad = wide()
        let search = try connection.prepare(
            """
            SELECT 1 FROM invalidation WHERE sequence > ?1 AND (scope = 0 OR (scope = 1 AND hash = ?2)
                OR (scope = 2 AND hash = ?3) OR (scope = 5 AND hash = ?4) OR (scope = 6 AND hash = ?5)) LIMIT 1
            """
        )
        search.bind(1, fencingNumber.number)
        search.bind(2, targetHash)
        search.bind(3, keyHash)
        search.bind(4, broad.origin)
        search.bind(5, broad.owner)
        let isFound = try search.step()
        search.reset()
        if isFound { return true }
        let hashes = Set(try tags().map(\.hash))
        if hashes.isEmpty { return false }
        let statement = try connection.prepare("SELECT hash FROM invalidation WHERE sequence > ?1 AND scope = 3")
        defer { statement.reset() }
        statement.bind(1, fencingNumber.number)
        while try statement.step() {
            if hashes.contains(statement.integer(0)) { return true }
        }
        return false
    }

    /// Returns whether any object was removed after `fencingNumber`.
    ///
    /// If the log no longer reaches back to the fencing number, it returns `true`.
    func hasRemovedObjects(after fencingNumber: InvalidationSequence) throws -> Bool {
        if fencingNumber.number >= lastSequence { return false }
        if fencingNumber.number < (try sequence().logLowWaterMark) { return true }
        let search = try connection.prepare(
            "SELECT 1 FROM invalidation WHERE sequence > ?1 AND scope IN (0, 4, 7) LIMIT 1"
        )
        defer { search.reset() }
        search.bind(1, fencingNumber.number)
        return try search.step()
    }

    /// Takes the next invalidation number, and applies an invalidation of responses.
    ///
    /// - Throws: ``StoreError`` with `busy` if too many prefix removals are unfinished. The caller
    ///   retries after the sweep has progressed.
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) throws -> Invalidation
    {
        switch scope {
        case .prefix(let prefix): try invalidatePrefix(prefix, effect, at: now)
        case .host(let host): try invalidateHost(host, effect, at: now)
        case .principal(let name): try invalidatePrincipal(KeyOwner(name), effect, at: now)
        case .all, .tag, .key, .target: Invalidation(number: try apply(scope, effect, at: now), scope: scope)
        }
    }

    private func apply(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) throws -> Int64 {
        switch scope {
        case .all:
            return try invalidateAll(effect, at: now)
        case .prefix, .host, .principal:
            return try invalidate(scope, effect, at: now).number
        case .tag(let name):
            let tag = TagName(name, state)
            let number = try nextInvalidation(.tag, hash: tag.hash, at: now)
            try invalidateTag(tag, number: number, effect)
            return number
        case .key(let key):
            let hash = state.hash(key.bytes, .responseKey)
            let number = try nextInvalidation(.key, hash: hash, at: now)
            try apply(effect, to: try responses(by: "key_hash", hash) { $0 == key.bytes })
            return number
        case .target(let target):
            let hash = state.hash(target.canonicalBytes, .target)
            let number = try nextInvalidation(.target, hash: hash, at: now)
            let places = try responses(by: "target_hash", hash) { StoreKey(bytes: $0)?.components.target == target }
            try apply(effect, to: places)
            return number
        }
    }

    /// Distrusts every entry, because invalidations may have been lost.
    ///
    /// - Parameter known: the highest known invalidation number.
    func distrustEverything(above known: Int64, at now: Timestamp) throws {
        let last = try sequence().last
        let number = try nextInvalidation(.all, hash: 0, at: now, above: known)
        // The numbers in between belong to lost invalidations. In-flight fetches that began before
        // them are rejected.
        try connection.run(
            "UPDATE store SET response_floor = ?1, object_floor = ?1, log_floor = max(log_floor, ?2) WHERE id = 1",
            number,
            max(last, known)
        )
        noteLowWaterMarks(response: number, object: number)
        // Some of them may not have reached other nodes.
        if memory.isInFleet { try journalEverything(at: now) }
    }

    /// Takes the next invalidation number, and logs the scope.
    ///
    /// Every invalidation calls this, in the transaction that puts it into effect.
    ///
    /// - Parameter known: a number that the next one must exceed.
    func nextInvalidation(
        _ scope: LogScope,
        hash: Int64,
        at now: Timestamp,
        above known: Int64 = 0
    ) throws -> Int64 {
        let number = publishedNumber.take() ?? max(lastSequence, known) + 1
        try connection.run("UPDATE store SET sequence = max(sequence, ?1) WHERE id = 1", number)
        try connection.run(
            "INSERT INTO invalidation (sequence, scope, hash, at) VALUES (?1, ?2, ?3, ?4)",
            number,
            scope.rawValue,
            hash,
            now.milliseconds
        )
        let lowWaterMark = number - state.limits.invalidationLog
        // Removes several at a time, because removing one takes as long as adding one.
        if lowWaterMark > 0, lowWaterMark % max(1, state.limits.invalidationLog / 64) == 0 {
            try connection.run("DELETE FROM invalidation WHERE sequence <= ?1", lowWaterMark)
            try connection.run("UPDATE store SET log_floor = max(log_floor, ?1) WHERE id = 1", lowWaterMark)
        }
        noteInvalidation(number, scope, hash: hash)
        return number
    }

    /// The numbers of the responses with a hash in a column whose keys match.
    func responses(by column: String, _ hash: Int64, where matches: ([UInt8]) -> Bool) throws -> [EntryRows] {
        let statement = try connection.prepare(
            "SELECT id, body_id, body_length, key FROM entry WHERE \(column) = ?1 AND kind = 0"
        )
        defer { statement.reset() }
        statement.bind(1, hash)
        var places: [EntryRows] = []
        while try statement.step() {
            if matches(statement.bytes(3)) { places.append(EntryRows(statement)) }
        }
        return places
    }

    private func apply(_ effect: InvalidationEffect, to places: [EntryRows]) throws {
        for place in places {
            switch effect {
            case .mark(let cause): try mark(place.id, cause)
            case .remove: try remove(place)
            }
        }
    }

    /// Marks an entry as invalidated. The greater of the two causes stays.
    func mark(_ id: Int64, _ cause: InvalidationCause) throws {
        try connection.run(
            "UPDATE entry SET is_invalidated = 1, invalidation_cause = max(invalidation_cause, ?2) WHERE id = ?1",
            id,
            cause.rawValue
        )
    }
}
