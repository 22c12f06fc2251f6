import HTTPCache
import OfflineStore

extension CachingClient {
    /// Some things of a batch: the live ones from the store, in one transaction, and all others by
    /// one request; each that comes is stored on its own.
    ///
    /// Each id is asked for once, however often it is named. Where the origin cannot be asked, or
    /// does not answer, expired things stand in, marked stale, and the answer says which are
    /// missing.
    /// - Throws: ``HoldfastError``: the origin refused, or its answer is not what was expected; or
    ///   it did not answer, and nothing at all is stored. `CancellationError`.
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
            for (id, value) in try await ask(for: wanted, of: batch, mode) {
                items[id] = BatchResponse.Item(value: value, source: .network, isStale: false)
            }
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: "a batch of '\(Value.self)'")
            guard error.isOfTheNetwork else { throw error }
            failure = error
            for id in wanted {
                guard let object = stored[id] else { continue }
                items[id] = BatchResponse.Item(value: object.value, source: .store, isStale: true)
            }
            if items.isEmpty { throw error }
        }
        return BatchResponse(items: items, missing: ids.filter { items[$0] == nil }, failure: failure)
    }

    /// What is stored, whatever its age. A store that fails has nothing.
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

    /// Asks for what is missing, and stores what comes before anybody sees it.
    private func ask<ID, Value>(
        for ids: [ID],
        of batch: ObjectBatch<ID, Value>,
        _ mode: OfflineMode
    ) async throws -> [ID: Value] {
        guard mode != .offline else {
            throw HoldfastError(
                code: .offlineMiss,
                message:
                    "\(ids.count) of a batch of '\(Value.self)' are not stored, or expired, and the network is not used offline."
            )
        }
        let asked = Set(ids)
        // What nobody asked for is not known to be meant for its key.
        let values = try await batch.ask(ids, self).filter { asked.contains($0.key) }
        do {
            try await store.setObjects(values.map { (key: batch.key($0.key), value: $0.value) }, expiry: batch.expiry)
        } catch {
            try Task.checkCancellation()
            logger.warning("Store failed", metadata: ["store.operation": "setObjects", "error": "\(error)"])
        }
        return values
    }
}
