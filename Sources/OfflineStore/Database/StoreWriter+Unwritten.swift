import Dispatch
import HTTPCache
import HTTPCacheSemantics
import Logging
import StoreFiles
import StoreMemory
import Synchronization

/// Invalidations on a disk that accepts no writes. RFC 9111 §4.4 leaves a cache no choice: after an
/// unsafe method succeeded, an outdated response must not be served as fresh.
extension StoreWriter {
    /// Puts invalidations into effect that could not be written. The next transaction writes them
    /// first, so nothing can be stored without them.
    ///
    /// The sidecar has room for their number even on a full disk. If the process ends before they
    /// are written, the store opens with a sidecar that is ahead of its database, and treats every
    /// entry as invalidated.
    ///
    /// - Parameters:
    ///   - isOwn: whether other nodes must be told of them once they are written.
    ///   - error: why they could not be written.
    /// - Returns: the number of the last one.
    /// - Throws: the error if they are in effect but not guaranteed: the sidecar cannot be written
    ///   either, other nodes cannot be told, or there are too many removals.
    func hold(
        _ scopes: [InvalidationScope],
        _ effect: InvalidationEffect,
        at now: Timestamp,
        isOwn: Bool = true,
        because error: StoreError
    ) async throws -> Int64 {
        try await withCheckedThrowingContinuation { continuation in
            // Transactions hold the lock while they wait for the disk.
            thread.async {
                continuation.resume(
                    with: Result { try self.holdHere(scopes, effect, at: now, isOwn: isOwn, because: error) }
                )
            }
        }
    }

    /// Writes them in a transaction of their own.
    func writeUnwrittenInvalidations(_ connection: Connection) throws {
        if database.unwritten.isEmpty { return }
        let context = WriteContext(connection: connection, state: database, memory: memory)
        try transaction(connection, isDurable: true) { try context.writeUnwrittenInvalidations() }
        context.applyCommit()
        if context.addsToJournal { events.journaled() }
    }

    private func holdHere(
        _ scopes: [InvalidationScope],
        _ effect: InvalidationEffect,
        at now: Timestamp,
        isOwn: Bool,
        because error: StoreError
    ) throws -> Int64 {
        try access.withLock { _ in
            guard memory.connection != nil else { throw StoreError.closed }
            if database.unwritten.isEmpty {
                logger.warning(
                    "cannot write to the disk; invalidations are in force and are written once writes succeed",
                    metadata: ["store.path": "\(path)", "error": "\(error)"]
                )
            }
            var sidecarFailure: StoreError?
            for scope in scopes {
                let number = memory.sequence + 1
                var record = UnwrittenInvalidations.Record(scope, effect, number: number, at: now, database)
                record.isOwn = isOwn
                guard database.unwritten.add(record) else { throw error }
                memory.sequence = number
                // In this order, because a reader that sees the number must see the invalidation.
                database.known.append([CommittedInvalidation(scope, number: number, database)])
                do {
                    try events.invalidated(number, true)
                } catch {
                    sidecarFailure = StoreError(error, path: path)
                }
            }
            if let sidecarFailure { throw sidecarFailure }
            // Other nodes learn of it from the journal, which is in the database.
            if memory.isInFleet { throw error }
            return memory.sequence
        }
    }
}

extension WriteContext {
    /// Writes the invalidations that could not be written when they took effect, in order and with
    /// their original numbers.
    func writeUnwrittenInvalidations() throws {
        guard let unwritten = state.unwritten.snapshot else { return }
        for record in unwritten.inOrder {
            if record.isOwn { try journal(record.scope, record.effect, at: record.instant) }
            publishedNumber = record.number
            do {
                _ = try invalidate(record.scope, record.effect, at: record.instant)
            } catch let error as StoreError where error.code == .busy {
                // Too many removals are unfinished. Writing does not wait for them; the copies are
                // marked instead.
                _ = try invalidate(record.scope, .mark(.unspecified), at: record.instant)
            }
            publishedNumber = nil
            writtenLate.append(record)
        }
    }
}

extension UnwrittenInvalidations {
    /// Logs at the end of a store that invalidations end with it, because they could not be
    /// written.
    func reportLoss(at path: String, to logger: Logger) {
        guard let unwritten = snapshot else { return }
        logger.warning(
            """
            purges and other invalidations were not written and end with this process; responses that they cover \
            may be served again; free some space, or make the disk writable, and repeat the purges
            """,
            metadata: [
                "store.path": "\(path)", "store.invalidations.unwritten": "\(unwritten.count)",
                "store.removals.unwritten": "\(unwritten.removals)",
            ]
        )
    }
}

extension UnwrittenInvalidations.Record {
    init(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        number: Int64,
        at instant: Timestamp,
        _ state: DatabaseState
    ) {
        self.init(scope: scope, effect: effect, number: number, instant: instant)
        if case .tag(let name) = scope { tagHash = TagName(name, state).hash }
    }
}

extension CommittedInvalidation {
    /// Creates the form that entries in memory are checked against, as the writer logs it for each
    /// scope.
    fileprivate init(_ scope: InvalidationScope, number: Int64, _ state: DatabaseState) {
        switch scope {
        case .all, .host: self.init(number: number, scope: .all, hash: 0)
        case .tag(let name): self.init(number: number, scope: .tag, hash: TagName(name, state).hash)
        case .key(let key): self.init(number: number, scope: .key, hash: state.hash(key.bytes, .responseKey))
        case .target(let target):
            self.init(number: number, scope: .target, hash: state.hash(target.canonicalBytes, .target))
        case .prefix(let prefix):
            self.init(number: number, scope: .prefix, hash: state.hash(prefix.originBytes, .origin))
        case .principal(let name):
            let hash = state.hash(KeyOwner(name).canonicalBytes, .owner)
            self.init(number: number, scope: .principal, hash: hash)
        }
    }
}
