public import HTTPTypes

extension CachePolicy {
    /// May `stored` answer `request` at `now`? The variant has been selected already.
    ///
    /// Of several reasons to validate, those that lie in the response come first (RFC 9211: `fwd=request` is for a response that was fresh): invalidated, stale (unless `max-stale` allows it),
    /// `no-cache`; then the request's `no-cache`, `max-age`, `min-fresh`. `max-age=0` always validates. The request's `no-store` is about storing and changes nothing here.
    ///
    /// With an ``StoredResponseHead/explicitExpiry`` the response's own `no-cache` and `must-revalidate` are lifted; the request's directives count all the same.
    public func reuse(of stored: StoredResponseHead, for request: HTTPRequest, at now: Timestamp) -> Reuse {
        let fields = StoredFields(stored.fields, received: stored.responseTime)
        let wishes = RequestDirectives(request.headerFields)
        let freshness = freshness(of: stored, fields, at: now)
        let staleUse = staleUse(fields.directives, hasExplicitExpiry: stored.explicitExpiry != nil)
        return Reuse(
            decision: decision(stored, fields.directives, wishes, freshness, staleUse),
            freshness: freshness,
            staleUse: staleUse,
            allowsStaleOnError: !stored.isInvalidated && staleUse == .allowed
                && covers(fields.directives.staleIfError, wishes.staleIfError, staleness: -freshness.clampedTimeToLive)
        )
    }

    /// What forbids stale use of this response by its own fields alone (the request has no say here). RFC 9111 §4.2.4
    public func staleUse(of stored: StoredResponseHead) -> Reuse.StaleUse {
        staleUse(ResponseDirectives(stored.fields), hasExplicitExpiry: stored.explicitExpiry != nil)
    }

    /// The request wants a stored response or a 504, and no forwarding. RFC 9111 §5.2.1.7
    public func isOnlyIfCached(_ request: HTTPRequest) -> Bool {
        RequestDirectives(request.headerFields).onlyIfCached
    }

    private func staleUse(_ directives: ResponseDirectives, hasExplicitExpiry: Bool) -> Reuse.StaleUse {
        if hasExplicitExpiry { return .allowed }
        if directives.mustRevalidate { return .forbidden(by: "must-revalidate") }
        // The qualified form too: the named fields must not be sent without validation, and we keep the response whole.
        if directives.noCache != .absent { return .forbidden(by: "no-cache") }
        if directives.forbidsStorage { return .forbidden(by: "no-store") }
        guard kind == .shared else { return .allowed }
        if directives.proxyRevalidate { return .forbidden(by: "proxy-revalidate") }
        if directives.sMaxage != nil { return .forbidden(by: "s-maxage") }
        return .allowed
    }

    private func decision(
        _ stored: StoredResponseHead,
        _ directives: ResponseDirectives,
        _ wishes: RequestDirectives,
        _ freshness: Freshness,
        _ staleUse: Reuse.StaleUse
    ) -> Reuse.Decision {
        let timeToLive = freshness.clampedTimeToLive
        if stored.isInvalidated { return .validate(.invalidated) }
        if !freshness.isFresh {
            guard staleUse == .allowed, allows(wishes.maxStale, staleness: -timeToLive) else {
                return .validate(.stale)
            }
        }
        if stored.explicitExpiry == nil, directives.noCache != .absent || directives.forbidsStorage {
            return .validate(.responseNoCache)
        }
        if wishes.noCache { return .validate(.requestNoCache) }
        if let maxAge = wishes.maxAge, maxAge == .zero || freshness.age.milliseconds > maxAge.milliseconds {
            return .validate(.requestMaxAge)
        }
        if let minFresh = wishes.minFresh, timeToLive < minFresh.milliseconds { return .validate(.requestMinFresh) }
        return freshness.isFresh ? .fresh : .staleAllowed
    }

    private func allows(_ maxStale: RequestDirectives.MaxStale?, staleness: Int64) -> Bool {
        switch maxStale {
        case nil: false
        case .any: true
        case .upTo(let limit): staleness <= limit.milliseconds
        }
    }

    private func covers(_ response: DeltaSeconds?, _ request: DeltaSeconds?, staleness: Int64) -> Bool {
        [response, request].contains { $0.map { staleness <= $0.milliseconds } ?? false }
    }
}

extension Freshness {
    /// The time to live, its smallest value raised by one so that it can be negated.
    var clampedTimeToLive: Int64 { max(timeToLive, -Int64.max) }
}

extension ResponseDirectives {
    /// `no-store` in what is stored already: a 304 brought it. (With `must-understand` it may have been stored by right.)
    var forbidsStorage: Bool { noStore && !mustUnderstand }
}
