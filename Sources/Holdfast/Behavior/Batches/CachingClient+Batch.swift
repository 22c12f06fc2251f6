import HTTPCache
import HoldfastContent
import OfflineStore

extension CachingClient {
    /// Fetches items of a batch. Items that have not expired are read from the store, in one
    /// transaction. One call of ``ObjectBatch/fetch`` fetches the other items, and each of them is
    /// stored separately.
    ///
    /// Each id is requested once, even if it is listed several times. If the origin is not
    /// contacted, does not respond or fails (5xx), expired items are returned, marked stale. In
    /// `preferStored` mode, expired items are not fetched again. The result lists the ids that have
    /// no item.
    ///
    /// If an object is removed from the store while the items are fetched, the items are returned
    /// but not stored, so that a log-out leaves nothing behind.
    /// - Throws: `HoldfastError` if the origin rejected the request, if its response is
    ///   malformed, or if there is no response and no item is stored. `CancellationError`.
    public func fetch<ID, Value>(
        _ ids: [ID],
        of batch: ObjectBatch<ID, Value>
    ) async throws -> BatchResponse<ID, Value> {
        var seen: Set<ID> = []
        let ids = ids.filter { seen.insert($0).inserted }
        let stored = await stored(ids, of: batch)
        let mode = mode
        var items: [ID: BatchResponse<ID, Value>.Item] = [:]
        for id in ids {
            guard let object = stored[id], !object.isExpired || mode == .preferStored else { continue }
            items[id] = BatchResponse.Item(value: object.value, source: .store, isStale: object.isExpired)
        }
        let wanted = ids.filter { items[$0] == nil }
        guard !wanted.isEmpty else { return BatchResponse(items: items, missing: []) }
        var failure: HoldfastError?
        do {
            for (id, value) in try await fetchMissing(wanted, of: batch, mode) {
                items[id] = BatchResponse.Item(value: value, source: .network, isStale: false)
            }
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: "a batch of '\(Value.self)'")
            guard error.isNetworkFailure else { throw error }
            failure = error
            for id in wanted {
                guard let object = stored[id] else { continue }
                items[id] = BatchResponse.Item(value: object.value, source: .store, isStale: true)
            }
            if items.isEmpty { throw error }
        }
        return BatchResponse(items: items, missing: ids.filter { items[$0] == nil }, failure: failure)
    }

    /// Returns the stored items, expired or not. If the store fails, returns none.
    private func stored<ID, Value>(
        _ ids: [ID],
        of batch: ObjectBatch<ID, Value>
    ) async -> [ID: StoredObject<Value>] {
        do {
            let objects = try await store.storedObjects(Value.self, forKeys: ids.map(batch.key))
            return zip(ids, objects).reduce(into: [:]) { $0[$1.0] = $1.1 }
        } catch {
            logger.warning("Store failed", metadata: ["store.operation": "objects", "error": "\(error)"])
            return [:]
        }
    }

    /// Fetches the missing items, and stores them before returning them.
    private func fetchMissing<ID, Value>(
        _ ids: [ID],
        of batch: ObjectBatch<ID, Value>,
        _ mode: OfflineMode
    ) async throws -> [ID: Value] {
        guard mode != .offline else {
            throw HoldfastError(
                code: .offlineMiss,
                message:
                    "\(ids.count) items of a batch of '\(Value.self)' are missing or expired, and an offline client does not use the network."
            )
        }
        let requested = Set(ids)
        let fencingNumber = store.invalidationSequence
        // An item that was not requested may be filed under the wrong key.
        let values = try await untilClosed("a batch of '\(Value.self)'") {
            try await batch.fetch(ids, self).filter { requested.contains($0.key) }
        }
        do {
            try await store.setObjects(
                values.map { (key: batch.key($0.key), value: $0.value) },
                expiry: batch.expiry,
                fencingNumber: fencingNumber
            )
        } catch {
            try Task.checkCancellation()
            logger.warning("Store failed", metadata: ["store.operation": "setObjects", "error": "\(error)"])
        }
        return values
    }
}
