import HTTPCache
public import HTTPCacheSemantics

/// Purging: by key, target URI, prefix or tag, and all, in all partitions.
///
/// *Invalidating* marks what is stored: it answers only when the origin cannot be reached, and
/// until then is validated. *Removing* takes offline copies too. Each is an invalidation with a
/// number of its own: it is in force, for everybody who reads the store and also after a power
/// failure, when the call returns, and what is being fetched meanwhile is not stored. How many
/// responses are concerned makes no difference to that: rows are marked and removed afterwards, in
/// short transactions.
///
/// Objects are not concerned, see ``removeObject(forKey:)``; ``removeAll()`` removes both.
extension CacheManager {
    // MARK: One key, one target

    /// Removes a key's responses, all variants, as an invalidation: what is being fetched for the
    /// key now is not stored either.
    ///
    /// It is gone, also after a power failure, when this returns.
    ///
    /// - Returns: whether there were any.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    @discardableResult
    public func removeResponse(for key: CacheKey) async throws -> Bool {
        let now = now()
        let wereThere = try await core.write(isDurable: true) { context in
            let count = try context.countResponses(of: key)
            _ = try context.invalidate(.key(key), .remove, at: now)
            return count > 0
        }
        core.changes.publish(StoreChange(.invalidated, .key(key)))
        return wereThere
    }

    /// Marks everything stored for a target URI as invalidated: all partitions, methods and
    /// variants.
    ///
    /// It answers only when the origin cannot be reached. What is being fetched for the target now
    /// is not stored either. In force, also after a power failure, when this returns.
    ///
    /// - Parameter target: compared byte by byte, query included; one for which nothing is stored
    ///   is no error.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(for target: TargetURI) async throws {
        try await responses.invalidate(.target(target), keepingForOffline: true, at: now())
    }

    /// Removes everything stored for a target URI, offline copies too: all partitions, methods and
    /// variants.
    ///
    /// What is being fetched for the target now is not stored either. It is gone, also after a
    /// power failure, when this returns, and its room has been given back, but for bodies that are
    /// being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeResponses(for target: TargetURI) async throws {
        try await responses.invalidate(.target(target), keepingForOffline: false, at: now())
        try await settle()
    }

    // MARK: Prefixes

    /// Marks everything stored for the target URIs with a prefix as invalidated: all partitions,
    /// methods and variants.
    ///
    /// It answers only when the origin cannot be reached. What is being fetched now is not stored
    /// either, as far as the prefix covers it, and neither may be what is being fetched from
    /// elsewhere on the same origin. However many responses it covers, this takes one short
    /// transaction, and is in force, also after a power failure, when it returns.
    ///
    /// ```swift
    /// try await store.invalidateResponses(withPrefix: TargetPrefix("https://a.example/list?page="))
    /// ```
    ///
    /// The rows are marked afterwards, and reading compares with what is not finished. Where 64
    /// prefixes that do not include each other are unfinished, the next one invalidates every
    /// response instead.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(withPrefix prefix: TargetPrefix) async throws {
        try await responses.invalidate(.prefix(prefix), keepingForOffline: true, at: now())
    }

    /// Removes everything stored for the target URIs with a prefix, offline copies too: all
    /// partitions, methods and variants.
    ///
    /// What is being fetched now is not stored either, as far as the prefix covers it, and neither
    /// may be what is being fetched from elsewhere on the same origin. It is gone, also after a
    /// power failure, when this returns, and its room has been given back, but for bodies that are
    /// being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`; `busy` where 64 such removals
    ///   are unfinished and stay so.
    @concurrent
    public func removeResponses(withPrefix prefix: TargetPrefix) async throws {
        try await responses.invalidate(.prefix(prefix), keepingForOffline: false, at: now())
        try await settle()
    }

    // MARK: Tags

    /// Marks everything stored under a tag as invalidated, in all partitions: it answers only when
    /// the origin cannot be reached.
    ///
    /// What is being fetched now and carries the tag is not stored either. However many responses
    /// have the tag, this takes one short transaction, and is in force, also after a power failure,
    /// when it returns.
    ///
    /// - Parameter tag: compared byte by byte; one that nobody carries is no error.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(tagged tag: String) async throws {
        try await responses.invalidate(.tag(tag), keepingForOffline: true, at: now())
    }

    /// Removes everything stored under a tag, in all partitions, offline copies too.
    ///
    /// What is being fetched now and carries the tag is not stored either. It is gone, also after a
    /// power failure, when this returns, and its room has been given back, but for bodies that are
    /// being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeResponses(tagged tag: String) async throws {
        try await responses.invalidate(.tag(tag), keepingForOffline: false, at: now())
        try await settle()
    }

    // MARK: All

    /// Marks every stored response as invalidated: it answers only when the origin cannot be
    /// reached.
    ///
    /// Nothing that is being fetched now is stored. One short transaction, in force, also after a
    /// power failure, when this returns.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateAllResponses() async throws {
        try await responses.invalidate(.all, keepingForOffline: true, at: now())
    }

    /// Removes every stored response, pinned ones and offline copies too; objects stay.
    ///
    /// Nothing that is being fetched now is stored. They are gone, also after a power failure, when
    /// this returns, and their room has been given back, but for bodies that are being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeAllResponses() async throws {
        try await responses.invalidate(.all, keepingForOffline: false, at: now())
        try await settle()
    }
}
