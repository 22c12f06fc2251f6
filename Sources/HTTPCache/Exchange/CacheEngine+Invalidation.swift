import HTTPCacheSemantics

extension CacheEngine {
    /// Invalidates what is stored for a request's target, whoever's it is: for all principals,
    /// methods and variants.
    ///
    /// As it is keyed: the rules, the request's own settings (``CacheRequest/overrides``) and its
    /// secret parameters count. Durable when it returns, and what is being fetched for the target
    /// is not stored any more; fetches from now on are.
    ///
    /// - Parameters:
    ///   - request: of which the target counts, and what it says of its key. It is not sent.
    ///   - keepingForOffline: `true` keeps what is stored for when the origin cannot be reached;
    ///     `false` removes it.
    /// - Throws: ``ExchangeError`` for a target that is none; what the store throws: then some of
    ///   it may be invalidated.
    @concurrent
    public func invalidate(_ request: CacheRequest, keepingForOffline: Bool) async throws {
        guard let prepared = prepare(request) else { throw ExchangeError.invalidTarget(request) }
        let now = clock.now()
        var done: Set<InvalidationScope> = []
        for scope in scopes(of: [prepared.target], for: prepared, isOwn: true) where done.insert(scope).inserted {
            try await store.invalidate(scope, keepingForOffline: keepingForOffline, at: now)
        }
    }

    /// Invalidates what is stored under a tag (``ResponseDraft/tags``), whoever's it is. Durable
    /// when it returns.
    ///
    /// - Parameter keepingForOffline: `true` keeps what is stored for when the origin cannot be
    ///   reached; `false` removes it.
    /// - Throws: what the store throws.
    @concurrent
    public func invalidate(tagged tag: String, keepingForOffline: Bool) async throws {
        try await store.invalidate(.tag(tag), keepingForOffline: keepingForOffline, at: clock.now())
    }
}
