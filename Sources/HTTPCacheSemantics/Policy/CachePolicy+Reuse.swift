public import HTTPTypes

extension CachePolicy {
    /// Decides whether `stored` may serve `request` at `now`. The caller has already selected the
    /// variant.
    ///
    /// If several reasons require validation, the response's reasons come first, because RFC 9211
    /// uses `fwd=request` only for a response that is fresh. The order is:
    ///
    /// 1. the response was invalidated;
    /// 2. it answered a request with credentials, and the directive that permits sharing it is
    ///    overridden;
    /// 3. it is stale, unless the request's `max-stale` or else the response's
    ///    `stale-while-revalidate` allows it;
    /// 4. the response's `no-cache` (or `no-store`; in a shared cache also `private`);
    /// 5. the request's `no-cache`, `max-age` or `min-fresh`;
    /// 6. the request's `Cookie`.
    ///
    /// `max-age=0` always validates, even an `immutable` response: RFC 8246 §2.1 leaves that signal
    /// to the client. The request's `no-store` concerns only storing, so it has no effect here.
    ///
    /// **`s-maxage` with `stale-…`.** `s-maxage` implies `proxy-revalidate` (RFC 9111 §5.2.2.10).
    /// But origins write `s-maxage=1, stale-while-revalidate=60` to request stale use by a shared
    /// cache. An explicit `stale-while-revalidate` or `stale-if-error` is therefore the origin's
    /// permission for that many seconds and takes precedence over the implied directive. An
    /// explicit `must-revalidate` or `proxy-revalidate` takes precedence over both. Without such an
    /// extension, `s-maxage` forbids stale use.
    ///
    /// **A qualified `no-cache="…"`** requires no validation; ``servedFields(of:age:isValidated:)``
    /// omits the fields that it lists. If it lists a field that the response needs (`Content-Type`,
    /// `Vary`, …), it is treated as unqualified, as §5.2.2.4 allows.
    ///
    /// **A request with `Cookie`** in a shared cache is served without validation only from a
    /// response that is explicitly shareable (`public`, or `s-maxage` above 0), because the
    /// response may depend on the cookie and not every origin says so in `Vary`. This is stricter
    /// than the RFC. If an operator says that the cookie affects responses
    /// (``PolicyOverrides/keptCookies``), `Vary` must also list `Cookie`. A request with
    /// `Authorization` is served.
    ///
    /// **A response to a request with credentials** (``StoredResponseHead/sharingBasis``) is served
    /// without validation only while the directive that permits sharing is in effect. If a rule
    /// later overrides that directive, every request validates the response, and it is never served
    /// stale. §3.5
    ///
    /// **An invalidation by a successful unsafe request** forbids stale use like a directive and is
    /// checked before all directives. ``PolicyOverrides/directivesIgnoredWhenStale`` overrides it
    /// like a directive. A response that was invalidated for another reason may be used stale, as
    /// if its lifetime had ended. RFC 9111 §4.4
    ///
    /// **An ``StoredResponseHead/explicitExpiry``** overrides the response's own `no-cache` and
    /// `must-revalidate`, and its `stale-while-revalidate` does not extend the caller's limit. The
    /// request's directives still apply.
    ///
    /// **An operator's rules** (``PolicyOverrides``) take precedence over the response's own
    /// fields. But ``PolicyOverrides/directivesIgnoredWhenStale`` applies only while the origin is
    /// unreachable, fails or must not be contacted. While the origin works, a stale response is
    /// validated as its directives require.
    ///
    /// **An operator's extension** (`extendedStaleness`) raises limits and `stale-if-error` but
    /// overrides no prohibition. Unlike the origin's own `stale-if-error`, it leaves `s-maxage` in
    /// effect.
    ///
    /// RFC 9111 §4, §4.2.4, §5.2; RFC 5861.
    public func reuse(of stored: StoredResponseHead, for request: HTTPRequest, at now: Timestamp) -> Reuse {
        let fields = read(stored)
        let requested = RequestDirectives(request.headerFields)
        let freshness = freshness(of: stored, fields, at: now)
        let isForOthers = kind == .shared && requested.hasCookie && !isShared(stored, fields)
        let prohibition = prohibition(fields, stored) ?? (isForOthers ? .cookie : nil)
        let staleness = -freshness.clampedTimeToLive
        let extensions = extensions(of: stored, fields, staleness: staleness)
        var forbidding = forbidding(prohibition, isPermitted: extensions.whileRevalidate || extensions.ifError)
        var lifted: StaleProhibition?
        if let overrides = fields.overrides, !overrides.directivesIgnoredWhenStale.isEmpty, let forbids = forbidding {
            let left =
                self.prohibition(fields, stored, despite: overrides.directivesIgnoredWhenStale)
                ?? (isForOthers ? .cookie : nil)
            forbidding = self.forbidding(left, isPermitted: extensions.whileRevalidate || extensions.ifError)
            if forbidding == nil { lifted = forbids }
        }
        let allowsOnError = extensions.ifError || Self.covers(requested.staleIfError, staleness: staleness)
        let isExtended = !allowsOnError && isExtendedOnError(stored, fields.overrides, staleness: staleness)
        return Reuse(
            decision: decision(stored, fields, requested, freshness, prohibition, extensions, isForOthers),
            freshness: freshness,
            staleUse: staleUse(forbidding),
            allowsStaleOnError: !stored.isInvalidated && forbidding == nil
                && (allowsOnError || isExtended),
            isExtendedOnError: isExtended,
            exceededBudget: fields.overrides?.exceededBudget(staleness: staleness, isOffline: false),
            exceededBudgetUnreachable: fields.overrides?.exceededBudget(
                staleness: staleness,
                isOffline: false,
                extended: extendedStaleness
            ),
            exceededBudgetOffline: fields.overrides?.exceededBudget(
                staleness: staleness,
                isOffline: true,
                extended: extendedStaleness
            ),
            liftedDirective: lifted?.rawValue
        )
    }

    /// Returns whether a shared cache may use a response for requests with cookies, without asking
    /// the origin.
    private func isShared(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        guard fields.directives.allowsSharing || fields.overrides?.ignoresCookie == true else { return false }
        return fields.overrides?.bindsToCookies(FieldNameList(.vary, in: stored.fields)) != true
    }

    /// Returns whether the response's own fields forbid stale use, and which directive does. The
    /// request does not matter here. RFC 9111 §4.2.4
    ///
    /// Time does not matter either: a `stale-if-error` or `stale-while-revalidate` of any length
    /// overrides the directive that `s-maxage` implies. ``reuse(of:for:at:)`` applies the length.
    package func staleUse(of stored: StoredResponseHead) -> Reuse.StaleUse {
        let fields = read(stored)
        let extensions = extensions(of: stored, fields, staleness: 0)
        return staleUse(
            forbidding(
                prohibition(fields, stored, despite: fields.overrides?.directivesIgnoredWhenStale ?? []),
                isPermitted: extensions.whileRevalidate || extensions.ifError
            )
        )
    }

    /// Returns whether the response may serve requests that waited for another request's fetch.
    ///
    /// A response that requires validation before every reuse, or that has `no-store`, may not
    /// serve them, unless the caller set its expiry. RFC 9111 §4
    package func mayServeCollapsed(_ stored: StoredResponseHead) -> Bool {
        if stored.explicitExpiry != nil { return true }
        let directives = directives(of: stored.fields)
        return !directives.forbidsUnvalidatedUse && !directives.forbidsStorage
    }

    /// Returns whether the response has `immutable`: its origin will not change it while it is
    /// fresh, so an eager refresh or background validation would be wasted. RFC 8246 §2
    ///
    /// It has no effect on a stale response, or on a request that requires validation.
    package func isImmutable(_ stored: StoredResponseHead) -> Bool {
        directives(of: stored.fields).immutable
    }

    /// Returns whether the response is marked as shareable: `public`, or `s-maxage` above 0. RFC
    /// 9111 §5.2.2.9, §5.2.2.10
    package func allowsSharing(_ stored: StoredResponseHead) -> Bool {
        directives(of: stored.fields).allowsSharing
    }

    /// Returns whether the response is only for the requesting user: `private`, or a `no-store`
    /// that an operator overrides. RFC 9111 §5.2.2.7, §5.2.2.5
    package func isForOneUser(_ stored: StoredResponseHead) -> Bool {
        let directives = directives(of: stored.fields)
        return directives.isWhollyPrivate || directives.forbidsStorage
    }

    /// Returns whether the request accepts only a stored response or a 504, without forwarding. RFC
    /// 9111 §5.2.1.7
    package func isOnlyIfCached(_ request: HTTPRequest) -> Bool {
        RequestDirectives(request.headerFields).onlyIfCached
    }

    /// Returns whether a request itself requires validation of a response with this age (in
    /// milliseconds), or a fresher response: `no-cache`, `max-age`, `min-fresh`. RFC 9111 §5.2.1
    package func asksForValidation(_ request: HTTPRequest, at age: Int64) -> Bool {
        let requested = RequestDirectives(request.headerFields)
        if requested.noCache || requested.minFresh != nil { return true }
        return requested.maxAge.map { $0 == .zero || age > $0.milliseconds } ?? false
    }

    /// The response's extensions that cover a staleness. RFC 5861
    private struct StaleExtensions {
        var whileRevalidate: Bool
        var ifError: Bool
    }

    /// - Parameter despite: the directives that an operator overrides.
    private func prohibition(
        _ fields: StoredFields,
        _ stored: StoredResponseHead,
        despite: PolicyOverrides.Directives = []
    ) -> StaleProhibition? {
        // Nothing overrides this reason. `decision` relies on it being checked first.
        if isWithheld(stored, fields) { return .credentials }
        let directives = fields.directives
        // The only check of whether an invalidated response may be served. It precedes the caller's
        // expiry, which was for the previous state of the resource.
        if stored.invalidation == .unsafeMethod, !despite.contains(.invalidated) { return .invalidated }
        if stored.explicitExpiry != nil { return nil }
        if directives.mustRevalidate, !despite.contains(.mustRevalidate) { return .mustRevalidate }
        if directives.forbidsUnvalidatedUse, !despite.contains(.noCache) { return .noCache }
        if directives.forbidsStorage, !despite.contains(.noStore) { return .noStore }
        guard kind == .shared else { return nil }
        // An operator cannot override `private`, because the response belongs to another user.
        if directives.isWhollyPrivate { return .isPrivate }
        if directives.proxyRevalidate, !despite.contains(.proxyRevalidate) { return .proxyRevalidate }
        return directives.sMaxage == nil || despite.contains(.sMaxage) ? nil : .sMaxage
    }

    private func forbidding(_ prohibition: StaleProhibition?, isPermitted: Bool) -> StaleProhibition? {
        prohibition == .sMaxage && isPermitted ? nil : prohibition
    }

    private func staleUse(_ prohibition: StaleProhibition?) -> Reuse.StaleUse {
        prohibition.map { .forbidden(by: $0.rawValue) } ?? .allowed
    }

    private func extensions(
        of stored: StoredResponseHead,
        _ fields: StoredFields,
        staleness: Int64
    ) -> StaleExtensions {
        let (directives, overrides) = (fields.directives, fields.overrides)
        // Otherwise, the origin could have a capped error served stale for as long as it likes.
        guard !StatusRules.needsExplicitFreshness(stored.status.code) else {
            return StaleExtensions(whileRevalidate: false, ifError: false)
        }
        // An operator's rules for stale responses are meant for good responses: an old error must
        // not be served just because no request arrived earlier.
        let isErrorOfRule =
            stored.status.code >= 400 && overrides?.staleWhileRevalidate != nil
        // The origin's own extensions override the directive that `s-maxage` implies. A rule's
        // extensions do not if sharing depends on `s-maxage`. RFC 9111 §3.5
        let isBound = stored.sharingBasis == .directives && kind == .shared && !directives.isPublic
        return StaleExtensions(
            whileRevalidate: stored.explicitExpiry == nil && !isErrorOfRule
                && !(isBound && overrides?.staleWhileRevalidate != nil)
                && Self.covers(directives.staleWhileRevalidate, staleness: staleness),
            ifError: !(isBound && overrides?.staleIfError != nil)
                && Self.covers(directives.staleIfError, staleness: staleness)
        )
    }

    /// Returns whether an operator's extension allows this staleness in place of an origin's error.
    private func isExtendedOnError(
        _ stored: StoredResponseHead,
        _ overrides: PolicyOverrides?,
        staleness: Int64
    ) -> Bool {
        extendedStaleness > 0 && overrides?.staleIfError != 0
            && !StatusRules.needsExplicitFreshness(stored.status.code)
            && Self.covers(DeltaSeconds(seconds: extendedStaleness), staleness: staleness)
    }

    private func decision(
        _ stored: StoredResponseHead,
        _ fields: StoredFields,
        _ requested: RequestDirectives,
        _ freshness: Freshness,
        _ prohibition: StaleProhibition?,
        _ extensions: StaleExtensions,
        _ isForOthers: Bool
    ) -> Reuse.Decision {
        let timeToLive = freshness.clampedTimeToLive
        if stored.isInvalidated { return .validate(.invalidated) }
        if prohibition == .credentials { return .validate(.responseCredentials) }
        var decision = Reuse.Decision.fresh
        if !freshness.isFresh {
            // `stale-if-error` does not apply here, because no error has occurred yet.
            guard forbidding(prohibition, isPermitted: extensions.whileRevalidate) == nil else {
                return .validate(.stale)
            }
            if allows(requested.maxStale, staleness: -timeToLive) {
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
        if requested.noCache { return .validate(.requestNoCache) }
        if let maxAge = requested.maxAge, maxAge == .zero || freshness.age.milliseconds > maxAge.milliseconds {
            return .validate(.requestMaxAge)
        }
        if let minFresh = requested.minFresh, timeToLive < minFresh.milliseconds { return .validate(.requestMinFresh) }
        return isForOthers ? .validate(.requestCredentials) : decision
    }

    private func allows(_ maxStale: RequestDirectives.MaxStale?, staleness: Int64) -> Bool {
        switch maxStale {
        case nil: false
        case .any: true
        case .upTo(let limit): staleness <= limit.milliseconds
        }
    }

    /// Returns whether a limit covers a staleness. Zero seconds (or a malformed number) permit
    /// nothing, not even the instant at which the response becomes stale.
    private static func covers(_ limit: DeltaSeconds?, staleness: Int64) -> Bool {
        guard let limit, limit > .zero else { return false }
        return staleness <= limit.milliseconds
    }
}

extension Freshness {
    /// The time to live. The minimum value is raised by one so that it can be negated.
    var clampedTimeToLive: Int64 { max(millisecondsToLive, -Int64.max) }
}

extension ResponseDirectives {
    /// Whether a stored response has `no-store`: a 304 added it, or an operator overrides it. (With
    /// `must-understand`, storing it may have been allowed.)
    var forbidsStorage: Bool { noStore && !mustUnderstand }

    /// Whether `no-cache` forbids use without validation. The qualified form does so if it lists a
    /// field that the response cannot be interpreted without, because such a field cannot be
    /// omitted. RFC 9111 §5.2.2.4
    var forbidsUnvalidatedUse: Bool {
        switch noCache {
        case .absent: false
        case .whole: true
        case .fields(let names): names.contains(where: FieldRules.isProtected)
        }
    }

    /// Whether `private` is unqualified. (Comparing the enum would compare lists.)
    var isWhollyPrivate: Bool { if case .whole = isPrivate { true } else { false } }

    /// Whether the response is explicitly shareable. `s-maxage=0` tells shared caches to revalidate
    /// on every request, so it does not make a response shareable. An invalid number does not
    /// either.
    var allowsSharing: Bool { isPublic || sMaxage ?? .zero > .zero }
}
