public import HTTPTypes

/// Whether a response may be stored, and for whom. RFC 9111 §3
public enum Storability: Sendable, Hashable {
    /// The response may be stored for all requests, in the common partition.
    case common
    /// The response may be stored only for the request's principal.
    case principal
    /// The response may not be stored.
    case forbidden(StorageRefusal)
}

extension CachePolicy {
    /// Returns whether the response to this request may be stored, and for whom.
    ///
    /// **A private cache** stores a response to a request with credentials (`Authorization`,
    /// `Cookie`, or a principal: `hasCredentials`) for its principal, unless the response is
    /// shareable (`public` or `s-maxage`, and not `private`). §3.5 would also allow sharing with
    /// `must-revalidate`, but origins often add that directive to personal responses, and storing a
    /// separate copy for each principal does no harm. A response to a request without credentials
    /// is stored `common`, even if it is `private`, because the whole cache belongs to one user.
    ///
    /// **A shared cache** never stores for a `principal`.
    ///
    /// The rules are stricter than RFC 9111 in four ways:
    ///
    /// - statuses that a client's malformed request can provoke (400, 405, 414, 501, …) are stored
    ///   only if an operator lists them, and a 5xx without `public` needs a stated lifetime;
    /// - statuses that concern the request rather than its target are never stored;
    /// - a shared cache does not store a response with `Set-Cookie`, unless ``storesSetCookie``
    ///   allows it;
    /// - a response to a method other than QUERY whose content is in the key needs a stated
    ///   lifetime (RFC 9110 §9.3.3).
    ///
    /// If an operator overrides `no-store` (``PolicyOverrides/directivesIgnoredWhenStale``), a
    /// successful response with that directive is stored for its principal. If the request has no
    /// principal, the response is stored only without `Set-Cookie`.
    ///
    /// An operator's lifetime (``PolicyOverrides``) also counts as a stated lifetime. §3.5 and the
    /// rule for `Set-Cookie` apply regardless of the operator's rules, with two exceptions: a
    /// `Cookie` that the operator ignores is not a credential, and cookies that are left out of the
    /// stored response (``PolicyOverrides/withoutCookies``) do not count in a response to a request
    /// without credentials. If a rule overrides `must-revalidate` or `s-maxage`, or sets the
    /// lifetime, then only `public` allows sharing a response to a request with credentials. If
    /// every cookie is left out, `Set-Cookie` keeps no response out.
    ///
    /// - Parameters:
    ///   - hasCredentials: whether the request has credentials, or the caller named a principal.
    ///   - methodIsKeyed: whether the request's content is in the key (QUERY, opted-in POST), so
    ///     that a method other than GET may be stored.
    ///   - hasExplicitExpiry: whether the caller sets the expiry, which is explicit freshness
    ///     information.
    ///   - isStored: whether the response is already stored. If so, it is not refused for a missing
    ///     lifetime.
    ///   - isFollowed: whether the response is a redirect that the caller follows. If so, whatever
    ///     overrides `no-store` for successes also overrides it for this redirect, which then needs
    ///     no lifetime.
    public func storability(
        of response: HTTPResponse,
        to request: HTTPRequest,
        hasCredentials: Bool,
        methodIsKeyed: Bool = false,
        hasExplicitExpiry: Bool = false,
        isStored: Bool = false,
        isFollowed: Bool = false
    ) -> Storability {
        let code = response.status.code
        let directives = directives(of: response.headerFields)
        let overrides = overrides(of: response.headerFields)
        let isKept = overrides?.keepsNoStore == true && (isFollowed || (200..<300).contains(code))
        if let refusal = refusal(status: code) ?? refusal(directives, status: code, keepsNoStore: isKept) {
            return .forbidden(refusal)
        }
        if let statuses = overrides?.statuses {
            if !statuses.contains(code) { return .forbidden(.rule) }
        } else if StatusRules.needsExplicitFreshness(code) {
            return .forbidden(.statusProvoked)
        }
        // The request's `Range` was not forwarded, so the origin did not see it, and the key does
        // not contain it.
        if code >= 400, !Self.forwardsRange(of: request.headerFields) { return .forbidden(.statusAboutRequest) }
        let requested = RequestDirectives(request.headerFields)
        if requested.noStore { return .forbidden(.requestNoStore) }
        let vary = FieldNameList(.vary, in: response.headerFields)
        if vary.hasWildcard || vary.hasMalformedMember { return .forbidden(.varyAny) }

        let isStated =
            directives.maxAge != nil || (!directives.isTargeted && response.headerFields.contains(.expires))
            || (kind == .shared && directives.sMaxage != nil)
        let isExplicit =
            isStored || hasExplicitExpiry || overrides?.statesLifetime(status: code) == true || isStated
        let method = request.method
        if method != .get {
            guard methodIsKeyed, Self.mayBeKeyed(method) else { return .forbidden(.method) }
            if method.rawValue != "QUERY" && !isExplicit { return .forbidden(.notExplicit) }
        }
        if !isExplicit && !(isKept && isFollowed) && !mayBeStoredWithoutLifetime(directives, status: code) {
            return .forbidden(.notExplicit)
        }
        let isReplaced = overrides?.replacesLifetime(status: code, isStated: isStated) == true
        // A rule says that the cookies affect the response. Then `public` is not enough.
        let isInfluenced = requested.hasCookie && overrides?.bindsToCookies(vary) == true
        let mayBeShared = sharesWithCredentials(
            directives,
            overrides,
            isLifetimeReplaced: isReplaced || hasExplicitExpiry,
            // §3.5 concerns `Authorization`. For a cookie, only directives that make a response
            // shareable count.
            countsMustRevalidate: request.headerFields.contains(.authorization)
                && !(requested.hasCookie && overrides?.ignoresCookie != true)
        )
        return audience(
            of: response,
            directives,
            hasCredentials: hasCredentials || isInfluenced || request.headerFields.contains(.authorization),
            isShareable: mayBeShared && !isInfluenced
        )
    }

    private func refusal(status code: Int) -> StorageRefusal? {
        switch code {
        case 100..<200: .statusNotFinal
        case 206: .partialContent
        case 200..<600: StatusRules.isAboutTheRequest(code) ? .statusAboutRequest : nil
        default: .statusNotUnderstood
        }
    }

    private func refusal(
        _ directives: ResponseDirectives,
        status code: Int,
        keepsNoStore: Bool
    ) -> StorageRefusal? {
        if directives.mustUnderstand {
            // With must-understand, no-store applies only to caches that do not support
            // must-understand. RFC 9111 §5.2.2.3
            if !StatusRules.isUnderstood(code) { return .statusNotUnderstood }
        } else if directives.noStore, !keepsNoStore {
            return .responseNoStore
        }
        if kind == .shared && directives.isPrivate == .whole { return .privateResponse }
        return nil
    }

    /// Returns whether a method can have its own keys, because it is safe or opted in. The methods
    /// listed here cannot.
    private static func mayBeKeyed(_ method: HTTPRequest.Method) -> Bool {
        switch method {
        case .head, .put, .delete, .patch, .connect, .options, .trace: false
        default: true
        }
    }

    /// Returns whether the response meets the last condition of RFC 9111 §3 without a lifetime: by
    /// `public`, by `private` in a private cache, or by its status.
    private func mayBeStoredWithoutLifetime(_ directives: ResponseDirectives, status code: Int) -> Bool {
        if StatusRules.needsExplicitFreshness(code) { return false }
        if directives.isPublic || StatusRules.isHeuristicallyCacheable(code) { return true }
        return code < 500 && kind == .private && directives.isPrivate != .absent
    }

    private func audience(
        of response: HTTPResponse,
        _ directives: ResponseDirectives,
        hasCredentials: Bool,
        isShareable: Bool
    ) -> Storability {
        // A response with `no-store` is stored only for use without the origin, and is never shared
        // with another principal.
        let isForOffline = directives.forbidsStorage
        let allowsSharing = directives.allowsSharing && !isForOffline
        let setsCookie = !leavesOutCredentials && response.headerFields.contains(.setCookie)
        // A cookie that is left out may still identify the client that has credentials. §7.3
        let leavesOut = setsCookie && leavesOutCookie(of: response.headerFields)
        let isBound = setsCookie && (hasCredentials || !leavesOutEveryCookie(of: response.headerFields))
        switch kind {
        case .shared:
            if hasCredentials && !isShareable { return .forbidden(.authorization) }
            if isBound && !(storesSetCookie && allowsSharing && !leavesOut) { return .forbidden(.setCookie) }
            return .common
        case .private:
            // One anonymous client must not get another client's session.
            guard hasCredentials else { return isForOffline && setsCookie ? .forbidden(.setCookie) : .common }
            if directives.isPrivate != .absent || (setsCookie && !allowsSharing) || leavesOut { return .principal }
            return isShareable ? .common : .principal
        }
    }
}
