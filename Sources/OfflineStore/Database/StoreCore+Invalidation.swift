import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import StoreFiles
import StoreMemory
import Synchronization

extension StoreCore {
    /// The maximum number of attempts of an invalidation for which earlier removals by prefix must
    /// be applied first.
    private static let invalidationAttempts = 8

    /// Invalidates responses of a store that no process can write.
    private func invalidateInMemory(
        _ scopes: [InvalidationScope],
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) throws -> Int64 {
        let state = try database().state
        var number = lastInvalidation.number
        for scope in scopes {
            number += 1
            guard state.unwritten.add(.init(scope, effect, number: number, at: now, state)) else { throw readOnlyError }
            // In this order, because a reader that sees the number must see the invalidation.
            number = lastInvalidation.value.max(number, ordering: .acquiringAndReleasing).newValue
            changes.publish(StoreChange(.invalidated, scope))
        }
        return number
    }

    /// Invalidates durably, and publishes the change.
    ///
    /// - Returns: the invalidation's number.
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws -> Int64 {
        try await invalidate([scope], effect, at: now).sequence.number
    }

    /// Invalidates some scopes in one durable transaction, and publishes the changes.
    ///
    /// If the disk accepts no writes, the invalidations take effect in memory until they can be
    /// written.
    func invalidate(
        _ scopes: [InvalidationScope],
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> ScopeInvalidation {
        try database().state.observe(now)
        if isOnlyReader {
            let number = try invalidateInMemory(scopes, effect, at: now)
            return ScopeInvalidation(sequence: InvalidationSequence(number), isDurable: false)
        }
        if isReadOnly { throw readOnlyError }
        var published = scopes
        // Even on error, because the invalidations may be in effect without being guaranteed.
        defer {
            for scope in published { changes.publish(StoreChange(.invalidated, scope)) }
        }
        let operation: @Sendable (WriteContext) throws -> [WriteContext.Invalidation] = { context in
            try scopes.map { scope in
                try context.journal(scope, effect, at: now)
                return try context.invalidate(scope, effect, at: now)
            }
        }
        var isNew = false
        var attempt = 1
        while true {
            do {
                let done = try await write(isDurable: true, operation)
                let isWider = zip(done, scopes).contains { $0.scope != $1 }
                if isWider {
                    published.append(.all)
                    logger.notice(
                        "too many prefix invalidations at once; invalidating every stored response instead",
                        metadata: ["store.path": "\(folder.path)"]
                    )
                }
                let number = done.last?.number ?? lastInvalidation.number
                return ScopeInvalidation(sequence: InvalidationSequence(number), coversEverything: isWider)
            } catch let error as StoreError where error.code == .damaged && !isNew {
                // A new, empty database is now in use. The invalidation takes a number there too,
                // so that in-flight fetches notice it.
                isNew = true
            } catch let error as StoreError where error.code == .busy && attempt < Self.invalidationAttempts {
                // There are too many removals by prefix, so the sweep must finish some first.
                attempt += 1
                await (try database()).writer?.settle()
            } catch let error as StoreError where error.isOfDisk {
                guard let writer = try database().writer else { throw error }
                let number = try await writer.hold(scopes, effect, at: now, because: error)
                return ScopeInvalidation(sequence: InvalidationSequence(number), isDurable: false)
            }
        }
    }
}
