public import HTTPTypes

/// Whether a response may be stored, and for whom. RFC 9111 §3
public enum Storability: Sendable, Hashable {
    /// For everybody, in the shared partition.
    case shared
    /// For the request's principal only.
    case principal
    /// Not at all.
    case forbidden(StorageRefusal)
}

extension CachePolicy {
    /// Whether the response to this request may be stored, and for whom.
    ///
    /// In a private cache a response to a request with credentials (`Authorization`, `Cookie`, or a
    /// principal, told by `hasCredentials`) is stored for its principal, unless it is meant for
    /// everybody (`public` or `s-maxage`, and not `private`; §3.5 would let `must-revalidate` share
    /// it too, but that is said of personal answers every day, and a principal's own copy loses
    /// nothing); one to a request without is stored `shared`, `private` responses included, because
    /// the whole cache is the one user's. In a shared cache `principal` is never the answer.
    ///
    /// Stricter than RFC 9111 in four points: what a client's malformed request can provoke (400,
    /// 405, 414, 501, …) needs an operator who names the status, and 5xx without `public` need a
    /// stated lifetime; statuses that answer the request rather than its target are never stored;
    /// `Set-Cookie` keeps a response out of a shared cache; a method whose content is keyed, QUERY
    /// apart, needs a stated lifetime (RFC 9110 §9.3.3).
    ///
    /// Where an operator lifts `no-store` (``PolicyOverrides/staleDespite``), a success that says
    /// so is stored for its principal, or where the request names none, without `Set-Cookie` only.
    ///
    /// Where an operator says how long the response is fresh (``PolicyOverrides``), that is a
    /// stated lifetime too. §3.5 and what is said of `Set-Cookie` count whatever an operator says;
    /// only a `Cookie` that the operator has ignored is no credential.
    ///
    /// - Parameters:
    ///   - hasCredentials: the request has credentials, or a principal was named for it.
    ///   - methodIsKeyed: the request's content is in the key (QUERY, opted-in POST), so a method
    ///     other than GET may be stored.
    ///   - hasExplicitExpiry: the caller sets the expiry itself, which counts as explicit freshness
    ///     information.
    public func storability(
        of response: HTTPResponse,
        to request: HTTPRequest,
        hasCredentials: Bool,
        methodIsKeyed: Bool = false,
        hasExplicitExpiry: Bool = false
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
        // Nothing in the key tells that it was there, nor did the origin see it.
        if code >= 400, !Self.forwardsRange(of: request.headerFields) { return .forbidden(.statusAboutRequest) }
        let wishes = RequestDirectives(request.headerFields)
        if wishes.noStore { return .forbidden(.requestNoStore) }
        let vary = FieldNameList(.vary, in: response.headerFields)
        if vary.hasWildcard || vary.hasMalformedMember { return .forbidden(.varyAny) }

        let isExplicit =
            hasExplicitExpiry || overrides?.statesLifetime(status: code) == true || directives.maxAge != nil
            || (!directives.isTargeted && response.headerFields.contains(.expires))
            || (kind == .shared && directives.sMaxage != nil)
        let method = request.method
        if method != .get {
            guard methodIsKeyed, Self.mayBeKeyed(method) else { return .forbidden(.method) }
            if method.rawValue != "QUERY" && !isExplicit { return .forbidden(.notExplicit) }
        }
        if !isExplicit && !mayBeStoredWithoutLifetime(directives, status: code) { return .forbidden(.notExplicit) }
        return audience(
            of: response,
            directives,
            hasCredentials: hasCredentials || request.headerFields.contains(.authorization),
            // §3.5 is about `Authorization`; no directive but those for everybody excuses a cookie.
            mustRevalidateShares: request.headerFields.contains(.authorization)
                && !(wishes.hasCookie && overrides?.ignoresCookie != true)
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
        _ overrides: PolicyOverrides?
    ) -> StorageRefusal? {
        if directives.mustUnderstand {
            // no-store is there for caches that do not know must-understand. RFC 9111 §5.2.2.3
            if !StatusRules.isUnderstood(code) { return .statusNotUnderstood }
        } else if directives.noStore, !(200..<300).contains(code) || overrides?.keepsNoStore != true {
            return .responseNoStore
        }
        if kind == .shared && directives.isPrivate == .whole { return .privateResponse }
        return nil
    }

    /// A method can have a key of its own when it is safe or was opted in; these never.
    private static func mayBeKeyed(_ method: HTTPRequest.Method) -> Bool {
        switch method {
        case .head, .put, .delete, .patch, .connect, .options, .trace: false
        default: true
        }
    }

    /// RFC 9111 §3, last condition, without a lifetime: `public`, `private` where this is a private
    /// cache, or the status.
    private func mayBeStoredWithoutLifetime(_ directives: ResponseDirectives, status code: Int) -> Bool {
        if StatusRules.needsExplicitFreshness(code) { return false }
        if directives.isPublic || StatusRules.isHeuristicallyCacheable(code) { return true }
        return code < 500 && kind == .private && directives.isPrivate != .absent
    }

    private func audience(
        of response: HTTPResponse,
        _ directives: ResponseDirectives,
        hasCredentials: Bool,
        mustRevalidateShares: Bool
    ) -> Storability {
        // It says `no-store`, and is kept for offline all the same: for the requester alone.
        let isForOffline = directives.forbidsStorage
        let allowsSharing = directives.allowsSharing && !isForOffline
        let setsCookie = response.headerFields.contains(.setCookie)
        switch kind {
        case .shared:
            let isExcused = allowsSharing || (mustRevalidateShares && directives.mustRevalidate && !isForOffline)
            if hasCredentials && !isExcused { return .forbidden(.authorization) }
            if setsCookie && !(storesSetCookie && allowsSharing) { return .forbidden(.setCookie) }
            return .shared
        case .private:
            // One guest's session must not become another's.
            guard hasCredentials else { return isForOffline && setsCookie ? .forbidden(.setCookie) : .shared }
            if directives.isPrivate != .absent || (setsCookie && !allowsSharing) { return .principal }
            return allowsSharing ? .shared : .principal
        }
    }
}
