import HTTPCacheSemantics

extension CacheEngine {
    /// Invalidates the responses stored for a request's target, for all principals, methods and
    /// variants.
    ///
    /// The target is used as keyed: the rules, the request's own settings
    /// (``CacheRequest/overrides``) and its secret parameters apply. The invalidation is durable
    /// when this returns. A response currently being fetched for the target is not stored;
    /// responses to later fetches are.
    ///
    /// - Parameters:
    ///   - request: only its target, and the parts that affect its key, are used. It is not sent.
    ///   - keepingForOffline: `true` marks the stored responses: they are validated before use, but
    ///     may still be served while the origin is unreachable. `false` removes them.
    /// - Throws: ``ExchangeError`` if the target is invalid; the store's error, in which case some
    ///   of the responses may be invalidated.
    @concurrent
    public func invalidate(_ request: CacheRequest, keepingForOffline: Bool) async throws {
        guard let prepared = prepare(request) else { throw ExchangeError.invalidTarget(request) }
        let now = clock.now()
        var done: Set<InvalidationScope> = []
        for scope in scopes(of: [prepared.target], for: prepared, isOwn: true) where done.insert(scope).inserted {
            try await store.invalidate(scope, keepingForOffline: keepingForOffline, at: now)
        }
    }

    /// Invalidates the responses stored under a tag (``ResponseDraft/tags``), for all principals.
    /// The invalidation is durable when this returns.
    ///
    /// - Parameter keepingForOffline: `true` marks the stored responses: they are validated before
    ///   use, but may still be served while the origin is unreachable. `false` removes them.
    /// - Throws: the store's error.
    @concurrent
    public func invalidate(tagged tag: String, keepingForOffline: Bool) async throws {
        try await store.invalidate(.tag(tag), keepingForOffline: keepingForOffline, at: clock.now())
    }
}
