package import HTTPCache
import HTTPCacheSemantics
package import NIOCore

/// Replaces a stored response's body in one atomic step.
extension CacheManager {
    /// Replaces the body of a stored response, unless the body has been replaced since the response
    /// was read.
    ///
    /// So reading, changing and writing back act as one atomic step. The key, variant, tags, pin
    /// and invalidation mark stay. The change is committed when this returns.
    ///
    /// - Parameters:
    ///   - stored: the response as it was read.
    ///   - body: the new body, in memory, smaller than one transaction of the store (4 MiB).
    ///   - excludesFetches: whether responses for the key that are being fetched at the time are
    ///     not stored, as after an invalidation.
    ///   - replacement: creates the new head from the current head, which may have been freshened
    ///     since the response was read. It runs on the writer's queue, and runs again if a
    ///     transaction is rolled back.
    /// - Returns: `nil` if nothing was changed, because the response was replaced or no longer
    ///   exists.
    /// - Throws: ``StoreError``: `tooLarge`, `readOnly`, `closed`, `full`, `io`.
    @concurrent
    package func replaceBody(
        of stored: StoredResponse,
        with body: ByteBuffer,
        excludesFetches: Bool,
        _ replacement: @escaping @Sendable (ResponseReplacement) -> ResponseReplacement
    ) async throws -> ReplacedResponse? {
        let now = now()
        let database = try core.database()
        let limits = database.state.limits
        let bytes = Int64(body.readableBytes) + stored.head.storedBytes
        guard bytes <= limits.maximumObject, bytes < limits.transaction else {
            throw StoreError(
                code: .tooLarge,
                message: "The changed body for '\(stored.key.components.target.redacted)' has \(body.readableBytes) "
                    + "bytes; the limit for a change is \(min(limits.maximumObject, Int64(limits.transaction))). "
                    + "Nothing was changed; remove the response and fetch it again."
            )
        }
        let id = database.state.newID()
        let chunks = ChunkRows(bodyID: id, from: 0, .buffer(body))
        let replaced = try await core.write(to: database, bytes: Int(bytes), isDurable: excludesFetches) { context in
            try context.replaceBody(
                of: stored,
                with: WriteContext.NewBody(id: id, chunks: chunks, content: body),
                excludesFetches: excludesFetches,
                at: now,
                replacement
            )
        }
        guard let replaced else { return nil }
        var change = StoreChange(.stored, .key(stored.key), tags: replaced.tags)
        change.isUpdate = excludesFetches
        core.changes.publish(change)
        return replaced.response
    }
}
