internal import HTTPTypes

/// The basis on which a cache serves a stored response to clients other than the original
/// requester. RFC 9111 §3.5
public enum SharingBasis: Sendable, Hashable, CaseIterable {
    /// No directive is needed: the request had no credentials, or the response is stored only for
    /// its principal.
    case noCredentials
    /// The request had credentials, so sharing depends on the response's directives.
    case directives
    /// Unknown, because the program that stored the response did not record it.
    case unrecorded
}

/// The only place that decides which directives allow sharing a response to a request with
/// credentials. It is checked when such a response is stored, and again whenever it is read.
extension CachePolicy {
    /// Returns whether these directives allow sharing a response to a request with credentials. RFC
    /// 9111 §3.5
    ///
    /// §3.5 demands that the cache "conforms to the requirements of that directive for that
    /// response". So `must-revalidate` and `s-maxage` count only if nothing overrides them:
    ///
    /// - no rule and no caller sets the lifetime;
    /// - ``PolicyOverrides/directivesIgnoredWhenStale`` does not include them;
    /// - ``PolicyOverrides/ignoredDirectives`` includes no directive of the response.
    ///
    /// `public` has no requirements. `s-maxage=0` never allows sharing, because it tells shared
    /// caches to revalidate on every request.
    ///
    /// - Parameters:
    ///   - directives: the directives with overrides applied.
    ///   - isLifetimeReplaced: see ``PolicyOverrides/replacesLifetime(status:isStated:)``; also
    ///     `true` if the caller set an expiry.
    ///   - countsMustRevalidate: `false` for a request with a cookie, which §3.5 does not cover.
    func sharesWithCredentials(
        _ directives: ResponseDirectives,
        _ overrides: PolicyOverrides?,
        isLifetimeReplaced: Bool,
        countsMustRevalidate: Bool = true
    ) -> Bool {
        // A response with `no-store` is stored only for use without the origin, and is never
        // shared.
        if directives.forbidsStorage { return false }
        if directives.isPublic { return true }
        guard kind == .shared else { return directives.allowsSharing }
        if isLifetimeReplaced || directives.isLoosened { return false }
        let lifted = overrides?.directivesIgnoredWhenStale ?? []
        if directives.allowsSharing, !lifted.contains(.sMaxage) { return true }
        return countsMustRevalidate && directives.mustRevalidate && !lifted.contains(.mustRevalidate)
    }

    /// Returns whether a stored response must not serve any request without validation, because the
    /// directive that allows sharing is overridden by a rule.
    package func isWithheld(_ stored: StoredResponseHead) -> Bool {
        stored.sharingBasis != .noCredentials && isWithheld(stored, read(stored))
    }

    func isWithheld(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        switch stored.sharingBasis {
        case .noCredentials: return false
        case .directives: break
        case .unrecorded: if !mayRestOnDirectives(stored, fields) { return false }
        }
        return !sharesWithCredentials(
            fields.directives,
            fields.overrides,
            isLifetimeReplaced: isLifetimeReplaced(stored, fields)
        )
    }

    /// Returns whether a rule or the caller, not the response, decides the lifetime.
    func isLifetimeReplaced(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        if stored.explicitExpiry != nil { return true }
        let isStated = fields.statesLifetime(for: kind)
        return fields.overrides?.replacesLifetime(status: stored.status.code, isStated: isStated) == true
    }

    /// Returns whether a response with an unknown basis may need a directive for sharing: it has
    /// `must-revalidate` or `s-maxage=0`, and neither `public` nor another `s-maxage`. The
    /// directives count as received.
    private func mayRestOnDirectives(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        let received =
            fields.overrides == nil
            ? fields.directives : ResponseDirectives(stored.fields, targeted: targetedFields)
        if received.allowsSharing { return false }
        return received.sMaxage != nil || (kind == .shared && received.mustRevalidate)
    }
}

extension StoredFields {
    /// Returns whether the response states its lifetime. RFC 9111 §4.2.1
    fileprivate func statesLifetime(for kind: CacheKind) -> Bool {
        if directives.maxAge != nil || (kind == .shared && directives.sMaxage != nil) { return true }
        if case .absent = expires { return false }
        return true
    }
}
