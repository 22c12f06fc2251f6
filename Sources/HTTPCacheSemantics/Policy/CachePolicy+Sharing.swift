internal import HTTPTypes

/// The basis on which a cache serves a stored response to others than the client whose request
/// brought it. RFC 9111 §3.5
public enum SharingBasis: Sendable, Hashable, CaseIterable {
    /// No directive is needed: the request had no credentials, or the response is stored for its
    /// principal alone.
    case noCredentials
    /// The request had credentials, so sharing rests on the response's directives.
    case directives
    /// Not known, because the program that stored the response did not record it.
    case unrecorded
}

/// The one place that decides which directives share a response to a request with credentials. It
/// is asked when such a response is stored, and again whenever it is read.
extension CachePolicy {
    /// Whether these directives share a response to a request with credentials. RFC 9111 §3.5
    ///
    /// §3.5 demands that the cache "conforms to the requirements of that directive for that
    /// response". So `must-revalidate` and `s-maxage` count only while nothing lifts them: no rule
    /// and no caller sets the lifetime, ``PolicyOverrides/directivesIgnoredWhenStale`` does not
    /// name them, and ``PolicyOverrides/ignoredDirectives`` names no directive of the response.
    /// `public` requires nothing. `s-maxage=0` never shares: it asks shared caches to ask the
    /// origin each time.
    ///
    /// - Parameters:
    ///   - directives: with the overrides applied.
    ///   - isLifetimeReplaced: see ``PolicyOverrides/replacesLifetime(status:isStated:)``; also if
    ///     the caller set an expiry.
    ///   - countsMustRevalidate: `false` for a request with a cookie, which §3.5 is not about.
    func sharesWithCredentials(
        _ directives: ResponseDirectives,
        _ overrides: PolicyOverrides?,
        isLifetimeReplaced: Bool,
        countsMustRevalidate: Bool = true
    ) -> Bool {
        // It is kept for offline use, for the requester alone.
        if directives.forbidsStorage { return false }
        if directives.isPublic { return true }
        guard kind == .shared else { return directives.allowsSharing }
        if isLifetimeReplaced || directives.isLoosened { return false }
        let lifted = overrides?.directivesIgnoredWhenStale ?? []
        if directives.allowsSharing, !lifted.contains(.sMaxage) { return true }
        return countsMustRevalidate && directives.mustRevalidate && !lifted.contains(.mustRevalidate)
    }

    /// Whether a stored response serves no request without validation, because sharing it rests on
    /// a directive that does not count any more: a rule lifts it.
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

    /// Whether a rule or the caller, and not the response, decides how long it is fresh.
    func isLifetimeReplaced(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        if stored.explicitExpiry != nil { return true }
        let isStated = fields.statesLifetime(for: kind)
        return fields.overrides?.replacesLifetime(status: stored.status.code, isStated: isStated) == true
    }

    /// Whether a response of which nothing is recorded may have come to a request with credentials
    /// that a rule lets it be served without: it has `must-revalidate` or `s-maxage=0`, and neither
    /// `public` nor another `s-maxage`. The directives count as they were received.
    private func mayRestOnDirectives(_ stored: StoredResponseHead, _ fields: StoredFields) -> Bool {
        let received =
            fields.overrides == nil
            ? fields.directives : ResponseDirectives(stored.fields, targeted: targetedFields)
        if received.allowsSharing { return false }
        return received.sMaxage != nil || (kind == .shared && received.mustRevalidate)
    }
}

extension StoredFields {
    /// Whether the response states how long it is fresh. RFC 9111 §4.2.1
    fileprivate func statesLifetime(for kind: CacheKind) -> Bool {
        if directives.maxAge != nil || (kind == .shared && directives.sMaxage != nil) { return true }
        if case .absent = expires { return false }
        return true
    }
}
