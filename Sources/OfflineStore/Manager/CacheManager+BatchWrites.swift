import HTTPCache
public import HTTPCacheSemantics

/// Many stored at once, as many in one transaction as it takes: faster than each by itself, because
/// they share its cost.
///
/// A transaction is stored as a whole or not at all, and holds up to 8 MiB, or less where the
/// budget is small; values that are larger are stored by themselves. Where one cannot be stored the
/// call ends, and what came before it may be there. Readers see what is stored with its commit.
extension CacheManager {
    /// Stores some values, each in place of what its key held.
    ///
    /// They are committed when this returns.
    ///
    /// ```swift
    /// try await store.setObjects(feeds, expiry: .after(.seconds(3600)))
    /// ```
    ///
    /// - Parameters:
    ///   - values: keys of 1 to 4,096 bytes of UTF-8 with their values: a dictionary, or a list of
    ///     pairs where keys differ in their bytes alone. Of a key that is given twice the last
    ///     value is stored. One that is empty or too long fails the call before anything is stored.
    ///   - expiry: of each, see ``setObject(_:forKey:expiry:coder:)``.
    ///   - coder: the configuration's unless told otherwise. Read with the same.
    /// - Throws: ``StoreError``: `notEncodable`, `tooLarge`, `invalidKey`, `readOnly`, `closed`,
    ///   `busy`, `full`, `io`. What was not stored is as it was; each key holds its old value or
    ///   its new one.
    @concurrent
    public func setObjects<Value: Encodable & Sendable>(
        _ values: some Collection<(key: String, value: Value)>,
        expiry: Expiry = .never,
        coder: (any ObjectCoder)? = nil
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let encoding = Encoding(Value.self, coder ?? self.coder)
        let named = try values.map { (key: $0.key, name: try Self.bytes(ofKey: $0.key), value: $0.value) }
        let sorted = database.state.inIndexOrder(named, .objectKey) { $0.name }
        // Of a key that is given twice the last one, which the order puts behind the others.
        let ordered = sorted.indices.lazy.filter { $0 + 1 == sorted.count || sorted[$0].name != sorted[$0 + 1].name }
            .map { sorted[$0] }
        try await core.write(ordered, to: database, through: writer) { item in
            let (key, name, value) = item
            let entry = try entry(value, key: key, name: name, at: now, expiry, encoding, database.state)
            if let whole = entry.whole(isShown: false, database.state) { return whole }
            try await store(entry, key: key, database)
            return nil
        }
    }

    /// Stores some responses, each in place of the one with the same `Vary` and selecting fields.
    ///
    /// They are committed when this returns. Otherwise like ``setResponse(_:for:expiry:tags:)``.
    ///
    /// - Parameters:
    ///   - expiry: of each.
    ///   - tags: of each.
    /// - Throws: ``StoreError``: `tooLarge` (for the budget, or for a quota), `invalidTag`,
    ///   `readOnly`, `closed`, `busy`, `full`, `io`. What was not stored is as it was.
    @concurrent
    public func setResponses(
        _ responses: [CacheKey: RawResponse],
        expiry: Expiry,
        tags: [String] = []
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let ordered = database.state.inIndexOrder(responses, .responseKey) { $0.key.bytes }
        try await core.write(ordered, to: database, through: writer) { item in
            let draft = try draft(of: item.value, for: item.key, expiry, tags, at: now, database.state.limits)
            if let whole = draft.whole(isShown: false, database.state) { return whole }
            try await store(draft, database)
            return nil
        } whenStored: { [core] entry in
            // The key is made again only where somebody watches.
            core.changes.publish(
                StoreChange(.stored, CacheKey(bytes: entry.draft.key).map { .key($0) } ?? .all, tags: tags)
            )
        }
    }
}
