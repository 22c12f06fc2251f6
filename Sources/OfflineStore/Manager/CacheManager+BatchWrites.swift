package import HTTPCache
public import HTTPCacheSemantics
import StoreFiles

/// Stores many values or responses at once, which is faster than one by one.
///
/// Several values share one transaction of up to 8 MiB (less if the budget is small). A transaction
/// is stored completely or not at all. A larger value gets its own transaction. If a value cannot
/// be stored, the call fails, and the values before it may be stored. Readers see a value once its
/// transaction is committed.
extension CacheManager {
    /// Stores values. Each replaces the value that its key had.
    ///
    /// The values are committed when this returns.
    ///
    /// ```swift
    /// try await store.setObjects(feeds, expiry: .after(.seconds(3600)))
    /// ```
    ///
    /// - Parameters:
    ///   - values: keys of 1 to 4,096 bytes of UTF-8 with their values. Pass a dictionary, or an
    ///     array of pairs if some keys differ only in their bytes. If a key occurs twice, its last
    ///     value is stored. If a key is empty or too long, the call fails before anything is
    ///     stored.
    ///   - expiry: for each value, see ``setObject(_:forKey:expiry:coder:)``.
    ///   - coder: the configuration's coder by default. Read the values with the same coder.
    /// - Throws: ``StoreError``: `notEncodable`, `tooLarge`, `invalidKey`, `readOnly`, `closed`,
    ///   `busy`, `full`, `io`. After an error, each key has either its old value or its new value.
    @concurrent
    public func setObjects<Value: Encodable & Sendable>(
        _ values: some Collection<(key: String, value: Value)>,
        expiry: Expiry = .never,
        coder: (any ObjectCoder)? = nil
    ) async throws {
        try await setObjects(values, expiry: expiry, coder: coder, fencingNumber: nil)
    }

    /// Stores values, unless an object was removed after `fencingNumber`. Otherwise, values that
    /// were fetched for a user who has logged out would come back.
    ///
    /// A removal by prefix covers keys of any kind, so after any removal, nothing is stored.
    @concurrent
    package func setObjects<Value: Encodable & Sendable>(
        _ values: some Collection<(key: String, value: Value)>,
        expiry: Expiry,
        coder: (any ObjectCoder)? = nil,
        fencingNumber: InvalidationSequence?
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let encoding = Encoding(Value.self, coder ?? self.coder)
        let named = try values.map { (key: $0.key, name: try Self.bytes(ofKey: $0.key), value: $0.value) }
        let sorted = database.state.sortedForIndex(named, .objectKey) { $0.name }
        // If a key occurs twice, the stable order puts its last value after the others.
        let ordered = sorted.indices.lazy.filter { $0 + 1 == sorted.count || sorted[$0].name != sorted[$0 + 1].name }
            .map { sorted[$0] }
        let isAllowed: @Sendable (WriteContext) throws -> Bool = { context in
            try fencingNumber.map { try !context.hasRemovedObjects(after: $0) } ?? true
        }
        try await core.writeBatches(of: ordered, to: database, through: writer, if: isAllowed) { item in
            let (key, name, value) = item
            let entry = try entry(value, key: key, name: name, at: now, expiry, encoding, database.state)
            if let whole = entry.whole(isVisibleBeforeCommit: false, database.state) { return whole }
            try await store(entry, key: key, database, if: isAllowed)
            return nil
        } whenStored: { [core] entry in
            core.objectChanges.publish(.object(key: entry.draft.key))
        }
    }

    /// Stores responses. Each replaces the stored response that has the same key, `Vary` and
    /// selecting header fields.
    ///
    /// The responses are committed when this returns. Everything else is as for
    /// ``setResponse(_:for:expiry:tags:)``.
    ///
    /// - Parameters:
    ///   - expiry: the expiry of each response.
    ///   - tags: the tags of each response.
    /// - Throws: ``StoreError``: `tooLarge` (for the budget, or for a quota), `invalidTag`,
    ///   `readOnly`, `closed`, `busy`, `full`, `io`. If a response was not stored, any earlier
    ///   response stays.
    @concurrent
    public func setResponses(
        _ responses: [StoreKey: RawResponse],
        expiry: Expiry,
        tags: [String] = []
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let ordered = database.state.sortedForIndex(responses, .responseKey) { $0.key.bytes }
        try await core.writeBatches(of: ordered, to: database, through: writer) { item in
            let draft = try draft(of: item.value, for: item.key, expiry, tags, at: now, database.state.limits)
            if let whole = draft.whole(isVisibleBeforeCommit: false, database.state) { return whole }
            try await store(draft, database)
            return nil
        } whenStored: { [core] entry in
            // The key is decoded only if there are watchers.
            core.changes.publish(
                StoreChange(.stored, StoreKey(bytes: entry.draft.key).map { .key($0) } ?? .all, tags: tags)
            )
        }
    }
}
