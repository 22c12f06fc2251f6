public import HTTPTypes

/// Whether a response may be stored, and for whom. RFC 9111 §3
public enum Storability: Sendable, Hashable {
    /// For all requests, in the common partition.
    case common
    /// For the request's principal only.
    case principal
    /// Not at all.
    case forbidden(StorageRefusal)
}

extension CachePolicy {
    /// Whether the response to this request may be stored, and for whom.
    ///
    /// **A private cache** stores a response to a request with credentials (`Authorization`,
    /// `Cookie`, or a principal: `hasCredentials`) for its principal, unless it is for all
    /// (`public` or `s-maxage`, and not `private`). §3.5 would let `must-revalidate` share it too,
    /// but origins often put that on personal responses, and a principal's own copy loses nothing.
    /// A response to a request without credentials is stored `common`, `private` ones included,
    /// because the whole cache is one user's.
    ///
    /// **A shared cache** never stores for a `principal`.
    ///
    /// This is stricter than RFC 9111 in four points:
    ///
    /// - statuses that a client's malformed request can provoke (400, 405, 414, 501, …) are stored
    ///   only if an operator names them, and a 5xx without `public` needs a stated lifetime;
    /// - statuses that concern the request rather than its target are never stored;
    /// - `Set-Cookie` keeps a response out of a shared cache;
    /// - a method with its content in the key, QUERY apart, needs a stated lifetime (RFC 9110
    ///   §9.3.3).
    ///
    /// If an operator lifts `no-store` (``PolicyOverrides/directivesIgnoredWhenStale``), a success
    /// with that directive is stored for its principal. If the request names no principal, it is
    /// stored only without `Set-Cookie`.
    ///
    /// An operator's lifetime (``PolicyOverrides``) is a stated lifetime too. §3.5 and the rule for
    /// `Set-Cookie` apply whatever an operator sets; only a `Cookie` that the operator ignores is
    /// not a credential. If a rule lifts `must-revalidate` or `s-maxage`, or sets the lifetime,
    /// then only `public` shares a response to a request with credentials.
    ///
    /// - Parameters:
    ///   - hasCredentials: whether the request has credentials, or a principal was named for it.
    ///   - methodIsKeyed: whether the request's content is in the key (QUERY, opted-in POST), so
    ///     that a method other than GET may be stored.
    ///   - hasExplicitExpiry: whether the caller sets the expiry, which is explicit freshness
    ///     information.
    ///   - isStored: whether it is stored already, so that a missing lifetime is no reason against
    ///     it.
    public func storability(
        of response: HTTPResponse,
        to request: HTTPRequest,
        hasCredentials: Bool,
        methodIsKeyed: Bool = false,
        hasExplicitExpiry: Bool = false,
        isStored: Bool = false
    ) -> Storability {
        let code = response.status.code
        let directives = directives(of: response.headerFields)
        let overrides = overrides(of: response.headerFields)
        if let refusal = refusal(status: code) ?? refusal(directives, status: code, overrides) {
            return .forbidden(refusal)
        }
        if let statuses = overrides?.statuses {
            if !statuses.contains(code) { return .forbidden(.rule) }
        } else if StatusRules.needsExplicitFreshness(code) {
            return .forbidden(.statusProvoked)
        }
        // The request's `Range` was not forwarded, so the origin did not see it, and it is not in
        // the key.
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
        if !isExplicit && !mayBeStoredWithoutLifetime(directives, status: code) { return .forbidden(.notExplicit) }
        let isReplaced = overrides?.replacesLifetime(status: code, isStated: isStated) == true
        let isShareable = sharesWithCredentials(
            directives,
            overrides,
            isLifetimeReplaced: isReplaced || hasExplicitExpiry,
            // §3.5 concerns `Authorization`. Only the directives that share a response excuse a
            // cookie.
            countsMustRevalidate: request.headerFields.contains(.authorization)
                && !(requested.hasCookie && overrides?.ignoresCookie != true)
        )
        let hasCredentials = hasCredentials || request.headerFields.contains(.authorization)
        return audience(of: response, directives, hasCredentials: hasCredentials, isShareable: isShareable)
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
        _ overrides: PolicyOverrides?
    ) -> StorageRefusal? {
        if directives.mustUnderstand {
            // Beside must-understand, no-store is for caches that do not know must-understand. RFC
            // 9111 §5.2.2.3
            if !StatusRules.isUnderstood(code) { return .statusNotUnderstood }
        } else if directives.noStore, !(200..<300).contains(code) || overrides?.keepsNoStore != true {
            return .responseNoStore
        }
        if kind == .shared && directives.isPrivate == .whole { return .privateResponse }
        return nil
    }

    /// Whether a method can have its own keys: it must be safe or opted in. These never have.
    private static func mayBeKeyed(_ method: HTTPRequest.Method) -> Bool {
        switch method {
        case .head, .put, .delete, .patch, .connect, .options, .trace: false
        default: true
        }
    }

    /// The last condition of RFC 9111 §3, without a lifetime: `public`, `private` if this is a
    /// private cache, or the status.
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
        // A response with `no-store` that is kept for offline use: for the requester alone.
        let isForOffline = directives.forbidsStorage
        let allowsSharing = directives.allowsSharing && !isForOffline
        let setsCookie = response.headerFields.contains(.setCookie)
        switch kind {
        case .shared:
            if hasCredentials && !isShareable { return .forbidden(.authorization) }
            if setsCookie && !(storesSetCookie && allowsSharing) { return .forbidden(.setCookie) }
            return .common
        case .private:
            // One guest's session must not become another guest's.
            guard hasCredentials else { return isForOffline && setsCookie ? .forbidden(.setCookie) : .common }
            if directives.isPrivate != .absent || (setsCookie && !allowsSharing) { return .principal }
            return isShareable ? .common : .principal
        }
    }
}
