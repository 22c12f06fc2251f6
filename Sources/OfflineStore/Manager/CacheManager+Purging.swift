import HTTPCache
public import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// Purging stored responses by key, target URI, prefix, tag or principal, or all of them.
///
/// *Invalidating* marks responses: they must be validated before use, and are served without
/// validation only while the origin is unreachable. *Removing* also deletes offline copies. Each
/// call takes its own invalidation number. When the call returns, its invalidation or removal is in
/// effect for every reader of the store, and survives a power failure. Responses that are being
/// fetched at the time are not stored. A call takes the same time for any number of responses:
/// their rows are marked or deleted afterward, in short transactions.
///
/// Objects are not affected: see ``removeObject(forKey:)`` and ``removeObjects(withPrefix:)``.
/// ``removeAll()`` removes both.
extension CacheManager {
    // MARK: One key, one target

    /// Removes all variants of a key's responses.
    ///
    /// This is an invalidation: a response currently being fetched for the key is not stored. The
    /// removal is durable when this returns.
    ///
    /// - Returns: whether there were any responses.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    @discardableResult
    public func removeResponse(for key: StoreKey) async throws -> Bool {
        let now = now()
        let wereThere = try await core.write(isDurable: true) { context in
            let count = try context.countResponses(of: key)
            try context.journal(.key(key), .remove, at: now)
            _ = try context.invalidate(.key(key), .remove, at: now)
            return count > 0
        }
        core.changes.publish(StoreChange(.invalidated, .key(key)))
        return wereThere
    }

    /// Marks everything stored for a target URI as invalidated: all partitions, methods and
    /// variants.
    ///
    /// After that, they are served without validation only while the origin is unreachable. A
    /// response currently being fetched for the target is not stored. The invalidation is in effect
    /// and durable when this returns.
    ///
    /// - Parameter target: compared byte by byte, including the query. A target without stored
    ///   responses is not an error.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(for target: TargetURI) async throws {
        try await responses.invalidate(.target(target), keepingForOffline: true, at: now())
    }

    /// Removes everything stored for a target URI, including offline copies: all partitions,
    /// methods and variants.
    ///
    /// A response currently being fetched for the target is not stored. The removal is durable when
    /// this returns, and the space is free, except for bodies that are still being read.
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
    /// After that, they are served without validation only while the origin is unreachable.
    /// Responses currently being fetched under the prefix are not stored. Fetches of other URIs of
    /// the same origin may not be stored either. The invalidation takes one short transaction for
    /// any number of responses. It is in effect and durable when this returns.
    ///
    /// ```swift
    /// let prefix = try TargetPrefix("https://a.example/list?page=")
    /// try await store.invalidateResponses(withPrefix: prefix)
    /// ```
    ///
    /// Rows are marked afterward. Until then, each read is compared with the unfinished prefixes.
    /// If 64 such invalidations or removals are unfinished and do not include each other, the next
    /// invalidation covers every response instead.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(withPrefix prefix: TargetPrefix) async throws {
        try await responses.invalidate(.prefix(prefix), keepingForOffline: true, at: now())
    }

    /// Removes everything stored for the target URIs with a prefix, including offline copies: all
    /// partitions, methods and variants.
    ///
    /// Responses currently being fetched under the prefix are not stored. Fetches of other URIs of
    /// the same origin may not be stored either. The removal is durable when this returns, and the
    /// space is free, except for bodies that are still being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`; `busy` if 64 such removals are
    ///   unfinished and do not finish.
    @concurrent
    public func removeResponses(withPrefix prefix: TargetPrefix) async throws {
        try await responses.invalidate(.prefix(prefix), keepingForOffline: false, at: now())
        try await settle()
    }

    // MARK: Tags

    /// Marks everything stored under a tag as invalidated, in all partitions.
    ///
    /// After that, they are served without validation only while the origin is unreachable.
    /// Responses with the tag that are currently being fetched are not stored. The invalidation
    /// takes one short transaction for any number of responses. It is in effect and durable when
    /// this returns.
    ///
    /// - Parameter tag: compared byte by byte. A tag without responses is not an error.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateResponses(tagged tag: String) async throws {
        try await responses.invalidate(.tag(tag), keepingForOffline: true, at: now())
    }

    /// Removes everything stored under a tag, in all partitions, including offline copies.
    ///
    /// Responses with the tag that are currently being fetched are not stored. The removal is
    /// durable when this returns, and the space is free, except for bodies that are still being
    /// read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeResponses(tagged tag: String) async throws {
        try await responses.invalidate(.tag(tag), keepingForOffline: false, at: now())
        try await settle()
    }

    // MARK: Principals

    /// Removes everything stored for a principal, including offline copies and pinned responses.
    /// Call this when a user logs out.
    ///
    /// These are the responses to requests that named the principal (`CacheRequest.principal`).
    /// Two kinds of responses stay:
    /// - public responses, which all users share
    /// - responses to requests with credentials but without a principal, because their owner is not
    ///   known
    ///
    /// Responses for the principal that are currently being fetched are not stored; responses for
    /// other principals are. The removal is one short transaction for any number of responses:
    /// after a crash, either all of them are there or none. It is durable when this returns, and
    /// the space is free, except for bodies that are still being read. Other processes see the
    /// removal immediately. In a fleet, other nodes also remove their copies; a node that receives
    /// the removal more than a minute late only expires them. To overwrite the content on disk, set
    /// ``Configuration/securelyDeletes``.
    ///
    /// End the session first, so that no new request stores a response.
    ///
    /// ```swift
    /// try await store.removeResponses(of: "user-4711")
    /// try await store.removeObjects(withPrefix: "user-4711/")
    /// ```
    ///
    /// - Parameter principal: compared byte by byte. A principal without stored responses is not an
    ///   error.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`; `busy` if 64 removals by
    ///   prefix or principal are unfinished and do not finish. With `full`, the responses are no
    ///   longer served, and are removed as soon as the disk has room. If the process ends before
    ///   that, they stay.
    @concurrent
    public func removeResponses(of principal: String) async throws {
        let scope = InvalidationScope.principal(principal)
        try await waitingForOthers {
            try await responses.invalidate(scope, keepingForOffline: false, at: now())
        }
        try await settle()
        guard try core.database().state.unwritten.contains(scope) else { return }
        if isReadOnly { throw core.readOnlyError }
        throw StoreError(
            code: .full,
            message: "The disk of '\(core.folder.path)' is full. The principal's responses are no longer served, "
                + "but are still on the disk. Free some space, and call 'removeResponses(of:)' again."
        )
    }

    // MARK: All

    /// Marks every stored response as invalidated.
    ///
    /// After that, they are served without validation only while the origin is unreachable.
    /// Responses currently being fetched are not stored. The invalidation takes one short
    /// transaction. It is in effect and durable when this returns.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func invalidateAllResponses() async throws {
        try await responses.invalidate(.all, keepingForOffline: true, at: now())
    }

    /// Removes every stored response, including pinned ones and offline copies; objects stay.
    ///
    /// Responses currently being fetched are not stored. The removal is durable when this returns,
    /// and the space is free, except for bodies that are still being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeAllResponses() async throws {
        try await responses.invalidate(.all, keepingForOffline: false, at: now())
        try await settle()
    }
}
