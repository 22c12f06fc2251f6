import HTTPCacheSemantics
package import HTTPTypes

/// The decisions about renewing a response in the background after it was served.
extension ReuseMachine {
    /// Returns whether to renew a served response in the background now. It is not renewed in these
    /// cases:
    /// - the request may use only the cache, or the mode is `offline`
    /// - the request cannot be sent without its caller
    /// - the origin recently failed or is unreachable
    ///
    /// - Parameters:
    ///   - recent: how the origin recently failed for the key.
    ///   - isOriginUnreachable: whether the origin's breaker is open.
    ///   - isReplayable: whether the request can be sent without its caller.
    package func isRefreshed(
        _ serve: Serve,
        recent: FailureThrottle.Failure?,
        isOriginUnreachable: Bool,
        isReplayable: Bool
    ) -> Bool {
        serve.isToBeRefreshed && isReplayable && !policy.isOnlyIfCached(request) && mode != .offline && recent == nil
            && !isOriginUnreachable
    }

    /// Returns whether a response is past the share of its lifetime after which it is renewed.
    func isToBeRefreshed(_ stored: StoredResponse, _ reuse: Reuse) -> Bool {
        reuse.freshness.age.milliseconds >= changingAge(stored, reuse.freshness)
    }

    /// Returns the age in milliseconds at which a fresh stored response becomes stale or is due for
    /// renewal, whichever is first.
    func changingAge(_ stored: StoredResponse, _ freshness: Freshness) -> Int64 {
        let lifetime = freshness.lifetime.milliseconds
        guard let share = prepared.eagerRefresh(of: stored.head, eagerRefresh), stored.head.explicitExpiry == nil,
            !policy.isImmutable(stored.head)
        else { return lifetime }
        let age = Double(lifetime) * share
        return age < Double(lifetime) ? Int64(age.rounded(.up)) : lifetime
    }

    /// Returns the renewal of a served stored response as a request of its own, without the
    /// caller's conditions and ranges. For a stored part, it has the `Range` of that part, because
    /// the representation may be much longer.
    ///
    /// - Returns: the request, and the fetch to send for it.
    package func refresh(of stored: StoredResponse) -> (presented: HTTPRequest, fetch: PlannedFetch) {
        var request = request
        request.headerFields.removeAll { $0.name.asksForPartOrNothing }
        if let range = stored.head.repeatedRange { request.headerFields[.range] = range }
        return (request, PlannedFetch(validating: stored, by: request, policy, reason: .stale, mayStandIn: true))
    }
}
