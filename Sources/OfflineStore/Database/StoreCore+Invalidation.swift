import HTTPCache
import HTTPCacheSemantics
import Logging
import Synchronization

extension StoreCore {
    /// How often a removal by prefix waits for those before it.
    private static let invalidationAttempts = 8

    /// Invalidates what is read from a store that cannot be written.
    private func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        _ volatile: VolatileInvalidations
    ) throws -> Int64 {
        volatile.add(scope, effect, try database().state)
        // After it: who sees the number sees the invalidation.
        let number = sequence.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
        changes.publish(StoreChange(.invalidated, scope))
        return number
    }

    /// Invalidates, durably, and tells of it.
    ///
    /// - Returns: the invalidation's number.
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws -> Int64 {
        try database().state.observe(now)
        if let volatile { return try invalidate(scope, effect, volatile) }
        if isReadOnly { throw readOnlyError }
        var told = scope
        // Also when it throws: it may be in force and only not promised.
        defer { changes.publish(StoreChange(.invalidated, told)) }
        let operation: @Sendable (WriteContext) throws -> WriteContext.Invalidation = {
            try $0.invalidate(scope, effect, at: now)
        }
        var isNew = false
        var attempt = 1
        while true {
            do {
                let done = try await write(isDurable: true, operation)
                told = done.scope
                if told != scope {
                    logger.notice(
                        "too many prefixes are being invalidated at a time; every stored response counts as invalidated",
                        metadata: ["store.path": "\(folder.path)"]
                    )
                }
                return done.number
            } catch let error as StoreError where error.code == .damaged && !isNew {
                // There is a new, empty database now; the number has to be taken all the same, so
                // that running fills notice.
                isNew = true
            } catch let error as StoreError where error.code == .busy && attempt < Self.invalidationAttempts {
                // Too many removals by prefix: the sweep makes room for more.
                attempt += 1
                await (try database()).writer?.settle()
            }
        }
    }
}
