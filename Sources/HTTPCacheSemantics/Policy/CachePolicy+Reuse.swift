public import HTTPTypes

extension CachePolicy {
    /// May `stored` answer `request` at `now`? The variant has been selected already.
    ///
    /// Of several reasons to validate, those that lie in the response come first (RFC 9211:
    /// `fwd=request` is for a response that was fresh): invalidated, stale (unless the request's
    /// `max-stale` or else the response's `stale-while-revalidate` allows it), `no-cache`; then the
    /// request's `no-cache`, `max-age`, `min-fresh`; then its `Cookie`. `max-age=0` always
    /// validates, an `immutable` response too: RFC 8246 §2.1 leaves the client that signal. The
    /// request's `no-store` is about storing and changes nothing here.
    ///
    /// **`s-maxage` beside `stale-…`.** `s-maxage` implies `proxy-revalidate` (RFC 9111 §5.2.2.10),
    /// but `s-maxage=1, stale-while-revalidate=60` is how origins ask a shared cache for just that;
    /// so an explicit `stale-while-revalidate` or `stale-if-error` is the origin's permission for
    /// its own seconds and goes before what `s-maxage` implies. An explicit `must-revalidate` or
    /// `proxy-revalidate` goes before both, and without such an extension stale use under
    /// `s-maxage` stays forbidden.
    ///
    /// **A qualified `no-cache="…"`** asks for no validation; ``servedFields(of:age:isValidated:)``
    /// leaves out what it names. Where it names a field that the response cannot do without
    /// (`Content-Type`, `Vary`, …), it counts as unqualified, as §5.2.2.4 allows.
    ///
    /// **A request with `Cookie`** in a shared cache is answered without validation only from a
    /// response that is explicitly for everybody (`public` or `s-maxage`): the cookie may be what
    /// the answer depends on, and not every origin says so in `Vary`. Stricter than the RFC. A
    /// request with `Authorization` is answered, because §3.5 is about storing: what is stored
    /// without those directives came from a request without credentials.
    ///
    /// **What a success of an unsafe method invalidated** forbids stale use as a directive does,
    /// before all of them, and ``PolicyOverrides/staleDespite`` lifts that as it lifts a directive.
    /// What was invalidated otherwise may be used stale, as if its time were over. RFC 9111 §4.4
    ///
    /// With an ``StoredResponseHead/explicitExpiry`` the response's own `no-cache` and
    /// `must-revalidate` are lifted, and its `stale-while-revalidate` does not prolong what the
    /// caller limited; the request's directives count all the same.
    ///
    /// **What an operator says** (``PolicyOverrides``) counts in place of the response's own
    /// fields, but what it lifts with ``PolicyOverrides/staleDespite`` is lifted only where the
    /// origin cannot be reached or fails: while it can be reached, a stale response is validated as
    /// its directives ask.
    ///
    /// RFC 9111 §4, §4.2.4, §5.2; RFC 5861.
    public func reuse(of stored: StoredResponseHead, for request: HTTPRequest, at now: Timestamp) -> Reuse {
        let fields = read(stored)
        let wishes = RequestDirectives(request.headerFields)
        let freshness = freshness(of: stored, fields, at: now)
        let isForOthers =
            kind == .shared && wishes.hasCookie && !fields.directives.allowsSharing
            && fields.overrides?.ignoresCookie != true
        let prohibition = prohibition(fields.directives, stored) ?? (isForOthers ? .cookie : nil)
        let staleness = -freshness.clampedTimeToLive
        let extensions = extensions(of: stored, fields.directives, staleness: staleness)
        var forbidding = forbidding(prohibition, isPermitted: extensions.whileRevalidate || extensions.ifError)
        var lifted: Prohibition?
        if let overrides = fields.overrides, !overrides.staleDespite.isEmpty, let forbids = forbidding {
            let left =
                self.prohibition(fields.directives, stored, despite: overrides.staleDespite)
                ?? (isForOthers ? .cookie : nil)
            forbidding = self.forbidding(left, isPermitted: extensions.whileRevalidate || extensions.ifError)
            if forbidding == nil { lifted = forbids }
        }
        return Reuse(
            decision: decision(stored, fields, wishes, freshness, prohibition, extensions, isForOthers),
            freshness: freshness,
            staleUse: staleUse(forbidding),
            allowsStaleOnError: !stored.isInvalidated && forbidding == nil
                && (extensions.ifError || Self.covers(wishes.staleIfError, staleness: staleness)),
            exceededBudget: fields.overrides?.exceededBudget(staleness: staleness, isOffline: false),
            exceededBudgetOffline: fields.overrides?.exceededBudget(staleness: staleness, isOffline: true),
            liftedDirective: lifted?.rawValue
        )
    }

    /// What forbids stale use of this response by its own fields alone (the request has no say
    /// here). RFC 9111 §4.2.4
    ///
    /// Time has no say either: what `s-maxage` implies counts as lifted where a `stale-if-error` or
    /// `stale-while-revalidate` lifts it for any time at all; ``reuse(of:for:at:)`` knows for how
    /// long.
    public func staleUse(of stored: StoredResponseHead) -> Reuse.StaleUse {
        let directives = directives(of: stored.fields)
        let extensions = extensions(of: stored, directives, staleness: 0)
        return staleUse(
            forbidding(
                prohibition(directives, stored, despite: overrides(of: stored.fields)?.staleDespite ?? []),
                isPermitted: extensions.whileRevalidate || extensions.ifError
            )
        )
    }

    /// Whether the response may answer requests that waited for another's: one that asks for
    /// validation before every reuse may not, nor one that says `no-store`. RFC 9111 §4
    public func mayAnswerCollapsed(_ stored: StoredResponseHead) -> Bool {
        if stored.explicitExpiry != nil { return true }
        let directives = directives(of: stored.fields)
        return !directives.forbidsUnvalidatedUse && !directives.forbidsStorage
    }

    /// The response's `immutable`: while it is fresh its origin will not change it, so eager
    /// refresh and background validation of it are wasted. RFC 8246 §2
    ///
    /// It changes nothing for a stale response, nor for a request that asks for validation.
    public func isImmutable(_ stored: StoredResponseHead) -> Bool {
        directives(of: stored.fields).immutable
    }

    /// Whether the response says that it is for everybody: `public` or `s-maxage`. RFC 9111
    /// §5.2.2.9, §5.2.2.10
    public func isForEverybody(_ stored: StoredResponseHead) -> Bool {
        directives(of: stored.fields).allowsSharing
    }

    /// Whether it is for the one whose request it answers, and nobody else: `private`, or
    /// `no-store` that was lifted. RFC 9111 §5.2.2.7, §5.2.2.5
    public func isForOneUser(_ stored: StoredResponseHead) -> Bool {
        let directives = directives(of: stored.fields)
        return directives.isWhollyPrivate || directives.forbidsStorage
    }

    /// The request wants a stored response or a 504, and no forwarding. RFC 9111 §5.2.1.7
    public func isOnlyIfCached(_ request: HTTPRequest) -> Bool {
        RequestDirectives(request.headerFields).onlyIfCached
    }

    /// Whether a request by itself asks for validation of a stale response of this age in
    /// milliseconds, or for a fresher one: `no-cache`, `max-age`, `min-fresh`. RFC 9111 §5.2.1
    package func asksForValidation(_ request: HTTPRequest, at age: Int64) -> Bool {
        let wishes = RequestDirectives(request.headerFields)
        if wishes.noCache || wishes.minFresh != nil { return true }
        return wishes.maxAge.map { $0 == .zero || age > $0.milliseconds } ?? false
    }

    /// What stands against stale use; the raw value is its name.
    private enum Prohibition: String {
        /// The origin said that it has another state now. RFC 9111 §4.4
        case invalidated
        // Said in so many words: nothing lifts these.
        case mustRevalidate = "must-revalidate"
        case noCache = "no-cache"
        case noStore = "no-store"
        case isPrivate = "private"
        case proxyRevalidate = "proxy-revalidate"
        case cookie
        /// Implied only, so that the response's extensions lift it. RFC 9111 §5.2.2.10
        case sMaxage = "s-maxage"
    }

    /// Which of the response's extensions cover a staleness. RFC 5861
    private struct StaleExtensions {
        var whileRevalidate: Bool
        var ifError: Bool
    }

    /// - Parameter despite: directives that an operator has lifted.
    private func prohibition(
        _ directives: ResponseDirectives,
        _ stored: StoredResponseHead,
        despite: PolicyOverrides.Directives = []
    ) -> Prohibition? {
        // The one place that says whether what was invalidated may stand in. Before the caller's
        // expiry, which was for what the resource was then.
        if stored.invalidation == .unsafeMethod, !despite.contains(.invalidated) { return .invalidated }
        if stored.explicitExpiry != nil { return nil }
        if directives.mustRevalidate, !despite.contains(.mustRevalidate) { return .mustRevalidate }
        if directives.forbidsUnvalidatedUse, !despite.contains(.noCache) { return .noCache }
        if directives.forbidsStorage, !despite.contains(.noStore) { return .noStore }
        guard kind == .shared else { return nil }
        // What is another's is nobody's to lift.
        if directives.isWhollyPrivate { return .isPrivate }
        if directives.proxyRevalidate, !despite.contains(.proxyRevalidate) { return .proxyRevalidate }
        return directives.sMaxage == nil || despite.contains(.sMaxage) ? nil : .sMaxage
    }

    private func forbidding(_ prohibition: Prohibition?, isPermitted: Bool) -> Prohibition? {
        prohibition == .sMaxage && isPermitted ? nil : prohibition
    }

    private func staleUse(_ prohibition: Prohibition?) -> Reuse.StaleUse {
        prohibition.map { .forbidden(by: $0.rawValue) } ?? .allowed
    }

    private func extensions(
        of stored: StoredResponseHead,
        _ directives: ResponseDirectives,
        staleness: Int64
    ) -> StaleExtensions {
        // A capped error would otherwise live on for as long as its origin likes, stale.
        guard !StatusRules.needsExplicitFreshness(stored.status.code) else {
            return StaleExtensions(whileRevalidate: false, ifError: false)
        }
        // What an operator says of stale responses is said of good ones: an old error is no answer
        // because nobody asked anew.
        let isErrorOfRule =
            stored.status.code >= 400 && overriding != nil && overrides(of: stored.fields)?.staleWhileRevalidate != nil
        return StaleExtensions(
            whileRevalidate: stored.explicitExpiry == nil && !isErrorOfRule
                && Self.covers(directives.staleWhileRevalidate, staleness: staleness),
            ifError: Self.covers(directives.staleIfError, staleness: staleness)
        )
    }

    private func decision(
        _ stored: StoredResponseHead,
        _ fields: StoredFields,
        _ wishes: RequestDirectives,
        _ freshness: Freshness,
        _ prohibition: Prohibition?,
        _ extensions: StaleExtensions,
        _ isForOthers: Bool
    ) -> Reuse.Decision {
        let timeToLive = freshness.clampedTimeToLive
        if stored.isInvalidated { return .validate(.invalidated) }
        var decision = Reuse.Decision.fresh
        if !freshness.isFresh {
            // `stale-if-error` permits nothing here: there is no error yet.
            guard forbidding(prohibition, isPermitted: extensions.whileRevalidate) == nil else {
                return .validate(.stale)
            }
            if allows(wishes.maxStale, staleness: -timeToLive) {
                decision = .staleAllowed
            } else if extensions.whileRevalidate {
                decision = .staleWhileRevalidate
            } else {
                return .validate(.stale)
            }
        }
        if stored.explicitExpiry == nil,
            fields.directives.forbidsUnvalidatedUse || fields.directives.forbidsStorage
                || (kind == .shared && fields.directives.isWhollyPrivate)
        {
            return .validate(.responseNoCache)
        }
        if wishes.noCache { return .validate(.requestNoCache) }
        if let maxAge = wishes.maxAge, maxAge == .zero || freshness.age.milliseconds > maxAge.milliseconds {
            return .validate(.requestMaxAge)
        }
        if let minFresh = wishes.minFresh, timeToLive < minFresh.milliseconds { return .validate(.requestMinFresh) }
        return isForOthers ? .validate(.requestCredentials) : decision
    }

    private func allows(_ maxStale: RequestDirectives.MaxStale?, staleness: Int64) -> Bool {
        switch maxStale {
        case nil: false
        case .any: true
        case .upTo(let limit): staleness <= limit.milliseconds
        }
    }

    /// Zero seconds (or a malformed number) permit nothing, not even the instant at which the
    /// response becomes stale.
    private static func covers(_ limit: DeltaSeconds?, staleness: Int64) -> Bool {
        guard let limit, limit > .zero else { return false }
        return staleness <= limit.milliseconds
    }
}

extension Freshness {
    /// The time to live, its smallest value raised by one so that it can be negated.
    var clampedTimeToLive: Int64 { max(timeToLive, -Int64.max) }
}

extension ResponseDirectives {
    /// `no-store` in what is stored already: a 304 brought it, or an operator lifted it. (With
    /// `must-understand` it may have been stored by right.)
    var forbidsStorage: Bool { noStore && !mustUnderstand }

    /// `no-cache`; the qualified form too where it names a field without which the response is
    /// misread, so that leaving it out is no way. RFC 9111 §5.2.2.4
    var forbidsUnvalidatedUse: Bool {
        switch noCache {
        case .absent: false
        case .whole: true
        case .fields(let names): names.contains(where: FieldRules.isProtected)
        }
    }

    /// `private` without field names. (Comparing the enum would compare lists.)
    var isWhollyPrivate: Bool { if case .whole = isPrivate { true } else { false } }

    /// Meant for everybody in so many words.
    var allowsSharing: Bool { isPublic || sMaxage != nil }
}
